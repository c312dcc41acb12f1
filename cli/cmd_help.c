/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"

struct topic {
    const char *name, *summary, *text;
};

static const struct topic topics[] = {
    { "start", "the three commands to begin with",
      "  tilewise record -o traces -- python3 server.py   run a program and record its matrix "
      "work\n"
      "  tilewise replay -o result.twr traces/*.twt       time those shapes: library and tile "
      "kernels\n"
      "  tilewise report --format=html -o report.html traces/*.twt result.twr\n"
      "\n"
      "record changes nothing in the program; replay checks every result before it times it;\n"
      "report says per operation whether a kernel of your own is worth writing, and why.\n"
      "tilewise doctor says whether this machine is ready for that." },
    { "exit-codes", "what the exit status says",
      "  0   fine\n"
      "  1   a finding: a damaged trace, a check that failed, something needed is missing, a\n"
      "      workload that drifted, a verdict that changed, a gate that failed\n"
      "  2   an error: the line on stderr names the file, the place and the remedy\n"
      "  64  bad usage: a wrong command, option or value\n"
      "\n"
      "record returns the status of the recorded program (128 + signal if a signal ended it);\n"
      "125 when recording itself failed, 126 when the program cannot be run, 127 when there is\n"
      "no such program." },
    { "environment", "variables that are read",
      "  TILEWISE_NAME   the option --name of any command, where the command line does not set it\n"
      "  TILEWISE_CONFIG a YAML file with options: name: value\n"
      "  TILEWISE_OUT    directory for traces; with LD_PRELOAD it arms the shim without record\n"
      "  TILEWISE_SHIM   where libtilewise-tracer.so lies\n"
      "  TILEWISE_DISPATCH\n"
      "                  the table of `report --format=dispatch` that tile.h obeys\n"
      "  TILEWISE_FORCE_BASELINE=1\n"
      "                  tile.h calls the library everywhere: the way back\n"
      "\n"
      "An option is taken from the command line, else from the environment, else from the file\n"
      "given with --config, else it has its default. --print-config shows the outcome." },
    { "words", "what the verdicts mean",
      "  stay           cold, shapes vary: stay on the baseline\n"
      "  note           cold, shapes are stable: no kernel yet, write it down\n"
      "  batch-first    hot, shapes vary: fix the pipeline, consider batching\n"
      "  spike          hot and stable: a tile kernel is worth going deep\n"
      "  adopt, pilot   a candidate was measured, verified and wins; pilot: by little\n"
      "  retune         a better choice inside the library wins first\n"
      "  keep-baseline  hot and stable, but nothing beats the library\n"
      "  withheld       the evidence is too thin; the reason says what is missing" },
    { "ci", "a decision that stays true: history, diff, gate",
      "  tilewise history add replays result.twr traces/*.twt   keep a replay with its verdicts\n"
      "  tilewise history replays                               all of them over time\n"
      "  tilewise diff BASE NEW                                 drift, and verdicts that changed\n"
      "  tilewise gate --policy p.yaml --base BASE TRACE... [RESULT.twr...]\n"
      "\n"
      "BASE and NEW are traces, or directories of traces and results. gate prints one line per\n"
      "finding and ends with 1 if one fails. What fails is said by the policy file:\n"
      "\n"
      "  gate:\n"
      "    max-regression: 0.05   # what a chosen kernel may lose\n"
      "    drift: yes             # also: regression, verification\n"
      "    unclear: no            # also: withheld, verdict, pace\n"
      "    min-coverage: 0.8      # of time\n"
      "\n"
      "Replays of different hardware are not compared unless --any-hardware is given." },
    { "gpu", "recording and replaying work on a GPU",
      "  tilewise record --gpu-time=windows --gpu-budget=0.05 --nvtx -o traces -- python3 "
      "serve.py\n"
      "      calls of cuBLAS, cuBLASLt, cuDNN and NCCL, also from CUDA graphs, need no option;\n"
      "      --gpu-time times their kernels in short windows, at a cost; --nvtx keeps phases "
      "apart\n"
      "  tilewise report --phase=decode traces/*.twt      one phase, as if there were nothing "
      "else\n"
      "  tilewise replay --device=cuda --order=recorded -o result.twr traces/*.twt\n"
      "      through cuBLAS and the tile kernels; --cuda-libraries=DIR takes those of the program\n"
      "\n"
      "A verdict on GPU work needs GPU time: how long a launch takes says nothing. What it costs:\n"
      "docs/attaching.md." },
    { NULL, NULL, NULL },
};

static const struct usage usage = {
    .command = "help",
    .args = "[COMMAND|TOPIC]",
    .doc = "Show help for tilewise, for one command or for a topic.",
    .min_args = 0,
    .max_args = 1,
};

static void list(void)
{
    puts("usage: tilewise COMMAND [OPTIONS] [ARGUMENTS]\n\n"
         "Record the matrix work of a real process, replay exactly its shapes, and learn whether\n"
         "a kernel of your own is worth writing.\n\ncommands:");
    for (const struct command *c = commands; c->name; c++)
        printf("  %-12s %s\n", c->name, c->summary);
    puts("\ntopics:");
    for (const struct topic *t = topics; t->name; t++)
        printf("  %-12s %s\n", t->name, t->summary);
    puts("\nMore: tilewise help COMMAND, tilewise help TOPIC, tilewise --version");
}

int cmd_help(int argc, char **argv)
{
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    if (first == argc) {
        list();
        return EXIT_FINE;
    }
    for (const struct topic *t = topics; t->name; t++)
        if (strcmp(t->name, argv[first]) == 0) {
            puts(t->text);
            return EXIT_FINE;
        }
    const struct command *command = command_find(argv[first]);
    if (!command)
        return EXIT_BAD_USAGE;
    char *args[] = { argv[first], "--help", NULL };
    return command->run(2, args);
}
