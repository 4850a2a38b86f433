#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST (1LL << 40)

const char *read_text(const Job *job, const char *name) {
    size_t length = strlen(name);
    for (char **option = job->options; *option; option++)
        if (!strncmp(*option, name, length) && (*option)[length] == '=')
            return *option + length + 1;
    refuse(job, "the option '%s' is missing; give it as %s=VALUE", name, name);
}

static bool parse_count(const char **text, long long *count) {
    char *end;
    errno = 0;
    *count = strtoll(*text, &end, 10);
    bool is_count = end != *text && !errno && *count >= 0 && *count <= LONGEST;
    *text = end;
    return is_count;
}

long long read_count(const Job *job, const char *name, long long least) {
    const char *text = read_text(job, name), *end = text;
    long long count;
    if (!parse_count(&end, &count) || *end || count < least)
        refuse(job, "%s: '%s' is not a whole number of at least %lld", name, text, least);
    return count;
}

double read_number(const Job *job, const char *name) {
    const char *text = read_text(job, name);
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= 0 && number < 1e9))
        refuse(job, "%s: '%s' is not a number of at least 0", name, text);
    return number;
}

bool read_flag(const Job *job, const char *name, const char *yes, const char *no) {
    const char *text = read_text(job, name);
    if (strcmp(text, yes) && strcmp(text, no))
        refuse(job, "%s: '%s' is neither %s nor %s", name, text, yes, no);
    return !strcmp(text, yes);
}

void read_geometry(const Job *job, const char *name, size_t geometry[4]) {
    const char *text = read_text(job, name), *end = text;
    for (int axis = 0; axis < 4; axis++) {
        long long length;
        if (!parse_count(&end, &length) || length < 1 || *end++ != (axis < 3 ? ':' : 0))
            refuse(job, "%s: '%s' is not t:x:y:z, four whole numbers of at least 1", name, text);
        geometry[axis] = (size_t)length;
    }
}
