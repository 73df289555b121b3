/* Random programs of calls, each in a child of its own.

   programs run FOLDER FIRST COUNT   runs the programs of these numbers in folders of their own
   programs read FOLDER FIRST COUNT  reads the frames that they left there

   The log goes to standard output: `program N`, what the program did, and how it ended. With OXIBLOSC_PROGRAMS_KIND in the environment,
   all programs are of the kind of that name. */
#include "tool.h"
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

uint64_t random_state;

void say_params(const blosc2_cparams *params) {
  say("  codec %d level %d typesize %d blocksize %d split %d threads %d dictionary %d filters %d:%d %d:%d", params->compcode,
      params->clevel, params->typesize, params->blocksize, params->splitmode, params->nthreads, params->use_dict,
      params->filters[4], params->filters_meta[4], params->filters[5], params->filters_meta[5]);
}

/* The kinds of programs, and how many of each there are in a hundred. */
static const struct kind {
  const char *name;
  int share;
  void (*run)(void);
} kinds[] = {
    {"chunk", 8, chunk_program},
    {"blosc1", 5, blosc1_program},
    {"schunk", 22, schunk_program},
    {"array", 22, array_program},
    {"plugin-array", 6, plugin_array_program},
    {"plugin-chunk", 3, plugin_chunk_program},
    {"invalid-chunk", 3, invalid_chunk_program},
    {"invalid-schunk", 3, invalid_schunk_program},
    {"invalid-array", 3, invalid_array_program},
    {"uneven", 7, uneven_program},
    {"handles", 7, handles_program},
    {"layers", 6, layers_program},
    {"orders", 5, orders_program},
};

static void run_program(void) {
  const char *name = getenv("OXIBLOSC_PROGRAMS_KIND");
  int64_t at = below(100);
  for (int i = 0; i < COUNT(kinds); i++) {
    bool is_meant = name != NULL ? strcmp(name, kinds[i].name) == 0 : at >= 0 && at < kinds[i].share;
    at -= kinds[i].share;
    if (is_meant) {
      kinds[i].run();
    }
  }
}

static int by_name(const void *one, const void *other) { return strcmp(*(char *const *)one, *(char *const *)other); }

static void read_folder(void) {
  char *names[64];
  int count = 0;
  DIR *folder = opendir(".");
  struct dirent *entry;
  while (folder != NULL && (entry = readdir(folder)) != NULL) {
    /* The lock files are not compared. */
    if (entry->d_name[0] != '.' && strstr(entry->d_name, "b2lock") == NULL && count < 64) {
      names[count++] = strdup(entry->d_name);
    }
  }
  qsort(names, (size_t)count, sizeof *names, by_name);
  for (int i = 0; i < count; i++) {
    say("file %s", names[i]);
    read_frame(names[i]);
  }
}

int main(int argc, char **argv) {
  if (argc != 5) {
    return 2;
  }
  bool reads = strcmp(argv[1], "read") == 0;
  uint64_t first = strtoull(argv[3], NULL, 10), count = strtoull(argv[4], NULL, 10);
  for (uint64_t number = first; number < first + count; number++) {
    printf("program %llu\n", (unsigned long long)number);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      char folder[4096];
      snprintf(folder, sizeof folder, "%s/%llu", argv[2], (unsigned long long)number);
      mkdir(folder, 0777);
      if (chdir(folder) != 0) {
        _exit(2);
      }
      alarm(20);
      random_state = number * 0x2545f4914f6cdd1d + 1;
      blosc2_init();
      reads ? read_folder() : run_program();
      blosc2_destroy();
      fflush(stdout);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
      return 2;
    }
    if (WIFSIGNALED(status)) {
      say("end: signal %d", WTERMSIG(status));
    } else {
      say("end: %d", WEXITSTATUS(status));
    }
  }
  return 0;
}
