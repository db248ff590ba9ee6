# cause: results-of-native-thread-never-collected
# class: mixed
# report: https://github.com/conveyal/r5/issues/318
# verdict: leak
# line: 37
# bytes-per-iteration: 12304
# holder: finished
# fix: free, collect, pop
# needs: apt:gcc
# note: The C thread puts each finished job (12,288 bytes and a link) at the head of a static list; Python reads the newest sum only and nobody takes jobs out.

import ctypes
import inspect
import os
import subprocess
import tempfile

FIRST = inspect.currentframe().f_lineno + 1
SOURCE = r"""
#include <pthread.h>
#include <stdlib.h>

struct job {
    struct job *next;
    unsigned sum;
    unsigned char data[12276];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static struct job *finished;
static long wanted, done;
static int stopping;

static struct job *compute(long number) {
    struct job *job = malloc(sizeof *job);
    job->sum = (unsigned)number;
    for (int pass = 0; pass < 10; pass++)
        for (unsigned i = 0; i < sizeof job->data; i++) {
            job->sum = job->sum * 1664525u + 1013904223u;
            job->data[i] = (unsigned char)(job->sum >> 24);
        }
    return job;
}

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    while (!stopping || done < wanted) {
        if (done == wanted) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        pthread_mutex_unlock(&lock);
        struct job *job = compute(done);
        pthread_mutex_lock(&lock);
        job->next = finished;
        finished = job;
        done++;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

void start(void) { pthread_create(&thread, NULL, work, NULL); }

unsigned run_one(void) {
    pthread_mutex_lock(&lock);
    long mine = ++wanted;
    pthread_cond_broadcast(&changed);
    while (done < mine)
        pthread_cond_wait(&changed, &lock);
    unsigned sum = finished->sum;
    pthread_mutex_unlock(&lock);
    return sum;
}

void stop(void) {
    pthread_mutex_lock(&lock);
    stopping = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}
"""


class Engine:
    def __init__(self, folder):
        source = os.path.join(folder, "engine.c")
        path = os.path.join(folder, "libengine.so")
        with open(source, "w") as out:
            out.write('#line %d "%s"\n%s' % (FIRST, os.path.abspath(__file__), SOURCE))
        subprocess.run(["cc", "-g", "-O1", "-pthread", "-shared", "-fPIC", "-o", path, source], check=True)
        self.library = ctypes.CDLL(path)
        self.library.run_one.restype = ctypes.c_uint

    def __enter__(self):
        self.library.start()
        return self

    def __exit__(self, *details):
        self.library.stop()

    def run(self):
        return self.library.run_one()


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "6000"))
    with Engine(tempfile.mkdtemp()) as engine:
        total = 0
        for _ in range(iterations):
            total ^= engine.run()
    print(total)
    print(f"truth iterations={iterations}")


main()
