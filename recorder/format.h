/* What a segment is: the trace of one process, in a file that the process itself writes through a mapping.

   A page with a header and counters, then chunks of 64 KiB. Each chunk is one thread's at a time, which fills it
   from its start; a record of zeros ends it. Each record bears the CRC-32C of the rest of itself, so that a
   record that was being written when its process was killed is known. All numbers are little-endian. */
#ifndef FORMAT_H
#define FORMAT_H

#include <stdint.h>

#define MAGIC "steelyard trace1"
#define PAGE 4096
#define CHUNK 65536
#define UNKNOWN (-1)

enum call {
#define CALL(number, name, kind) CALL_##name = number,
#include "calls.def" /* of the package, which reads it too */
#undef CALL
};

enum flag { STREAM = 1 /* made by the C library, for a stream of the program's */ };

struct header {
    char magic[16];
    uint32_t checksum; /* of what follows, up to the counters */
    uint32_t record;   /* bytes of a record */
    int32_t process, parent;
    uint64_t wall, monotonic; /* ns: the same instant by both clocks */
    uint64_t argument_bytes;  /* of the command line, whose words end in zero bytes; it begins at ARGUMENTS */
    uint64_t cpu; /* the only one that it may run on when it begins, plus one; 0: it may run on several */
    /* What the library knows that it did not see. */
    uint64_t lost;     /* calls: no room, or a signal came in the middle of another record */
    uint64_t io_uring; /* rings made */
    uint64_t aio;      /* requests by io_submit or aio_read and the like */
    uint64_t raw;      /* storage calls by syscall() */
    uint64_t unloaded; /* programs started that the library is not loaded into */
    uint64_t mapped;   /* bytes mapped that can be written and are shared */
};
#define ARGUMENTS 256

struct record {
    uint32_t checksum;
    uint16_t call, flags;
    uint64_t start, duration; /* ns, by CLOCK_MONOTONIC */
    int64_t result;           /* below zero: -errno */
    int64_t offset;           /* bytes; UNKNOWN: where the file's position was. Of open: the file's size */
    uint64_t size;            /* bytes asked for. Of open: its inode. Of a name: its bytes, in the next records */
    int32_t descriptor;       /* Of open: its mode */
    uint32_t thread;
    uint32_t name;  /* of the file or the path; 0: none */
    uint32_t extra; /* flags of open, whence of lseek, a second name, a page of memory; of a name: the checksum of its bytes */
};

_Static_assert(sizeof(struct record) == 64, "a record has 64 bytes");
_Static_assert(sizeof(struct header) <= ARGUMENTS, "the header ends before the arguments");

#endif
