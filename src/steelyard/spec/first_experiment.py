"""A commented experiment file for a command: what `steelyard init` writes, and a page begins with."""

from __future__ import annotations

from steelyard.spec.bare_command import build_experiment
from steelyard.spec.change import dump, load_tree
from steelyard.spec.yaml.source import read

TEMPLATE = """\
# An experiment: what to measure, how often, and the required results.
# `steelyard plan {file}` shows what it would run, `steelyard run {file}` runs it.
experiment: {title}
about: What question does this answer?

parameters:                        # one cell for each combination of levels
{parameters}
# where: threads <= 4              # run only some of the combinations

workload:
  use: command                     # `steelyard catalog` lists benchmarks that need no command
  run: {run}
  # metrics:                       # figures in its output, besides wall, user, system, peak_memory:
  #   rate: {{regex: 'rate: ([\\d.]+)', unit: MiB/s, better: higher}}
  #   score: {{json: results[0].score, better: higher}}

# before_each: [sync, drop_caches, {{settle: 1s}}, {{warm_up: 1}}]
repeat: 6                          # fewer give no 95 % interval; or stop at a given precision:
# repeat: {{at_least: 6, at_most: 20, until: {{metric: wall.median, within: 5%}}, budget: 30min}}
# disturbed: replace               # disturbed trials are repeated; or exclude, include
order: blocked                     # blocked | random | as-written
# timeout: 5min
# require:
#   - wall.median <= 2 s
"""


def fill_template(words: tuple[str, ...], file: str) -> str:
    """The text of a first experiment that runs the words."""
    tree = build_experiment(words)
    parameters = dump(tree["parameters"]) if "parameters" in tree else ""
    lines = [f"  {line}" for line in _flatten(parameters)] or ["#  threads: [1, 2, 4]"]
    head = "parameters:" if parameters else "# parameters:"
    run = ", ".join(_quote(word) for word in tree["workload"]["run"])
    text = TEMPLATE.format(
        file=file, title=tree["experiment"], parameters="\n".join(lines), run=f"[{run}]"
    ).replace("parameters:", head, 1)
    load_tree(_read_back(text))
    return text


def _read_back(text: str) -> dict[str, object]:
    """What we wrote, read as a stranger's file: a template that cannot be run would be a poor start."""
    tree: dict[str, object] = read(text, "the template").value
    return tree


def _flatten(block: str) -> list[str]:
    """`name:` and its `- level` lines as `name: [level, level]`."""
    lines: list[str] = []
    for line in block.splitlines():
        if line.startswith("- "):
            lines[-1] = lines[-1].removesuffix("]") + (", " if "[" in lines[-1] else " [") + line[2:] + "]"
        else:
            lines.append(line)
    return lines


def _quote(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
