#include "hdf5_reason.h"

#include <stdio.h>
#include <string.h>

void silence_hdf5(void) { H5Eset_auto2(H5E_DEFAULT, NULL, NULL); }

/* Called from the innermost error on: the first that says anything is the reason. */
static herr_t keep_first(unsigned number, const H5E_error2_t *error, void *into) {
    char *text = into;
    (void)number;
    if (!*text && error->desc)
        snprintf(text, REASON, "%s", error->desc);
    return 0;
}

const char *explain_hdf5(char into[REASON]) {
    *into = 0;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, into);
    for (char *letter = into; *letter; letter++)
        if (*letter == '\n')
            *letter = ' ';
    if (!*into)
        snprintf(into, REASON, "HDF5 gives no reason");
    return into;
}
