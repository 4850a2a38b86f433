/* Options as words `name=value`; what is no value of its kind is refused by name. */
#ifndef STEELYARD_OPTIONS_H
#define STEELYARD_OPTIONS_H

#include "ranks.h"

const char *read_text(const Job *job, const char *name);
long long read_count(const Job *job, const char *name, long long least);
double read_number(const Job *job, const char *name);

/* Whether the option is `yes`; the other word is `no`. */
bool read_flag(const Job *job, const char *name, const char *yes, const char *no);

/* Four lengths `t:x:y:z`, each of them at least 1. */
void read_geometry(const Job *job, const char *name, size_t geometry[4]);

#endif
