# SPDX-License-Identifier: Apache-2.0
"""Compile the kernels of kernels/NAME ahead of time and write their manifests; called by
compile.sh, which provides the compilers. --check needs none: it holds the committed files against
the tables and against each other."""
import argparse
import concurrent.futures
import importlib.util
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent

sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import manifest as formats


def load_table(name):
    """kernels/NAME/offers.py; its kernels are found as modules beside it."""
    sys.path.insert(0, str(HERE / name))
    spec = importlib.util.spec_from_file_location(f"{name}_offers", HERE / name / "offers.py")
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    return table


def pinned(name, packages):
    """What requirements.txt pins, which is what compile.sh installs."""
    text = (HERE / name / "requirements.txt").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.M))
    return [f"{package} {pins[package]}" for package in packages]


def compile_all(table, modules, archs, out):
    """tileiras and ptxas are processes, so threads are enough."""
    jobs = [(module, arch) for module in modules for arch in archs]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for (module, arch), cubin in zip(jobs, pool.map(lambda job: table.build(*job), jobs)):
            path = out / formats.cubin_name(module, arch)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(cubin)
            print(f"{len(cubin):8} {formats.sha256(path)} {path.relative_to(out)}", flush=True)


def texts(name, table, home, out, archs):
    compilers = pinned(name, table.COMPILERS)
    return {f"{stem}.yaml": formats.manifest(name, rows, home, out, archs, compilers)
            for stem, rows in table.MANIFESTS.items()}


def check(name, table, home):
    """Are manifests, cubins and sources those of one moment?"""
    wrong = []
    wanted = {f"{arch}/{module}.cubin" for rows in table.MANIFESTS.values()
              for module in formats.modules_of(rows) for arch in table.COMMITTED}
    found = {str(path.relative_to(home)) for path in home.glob("sm_*/*.cubin")}
    wrong += [f"{path}: missing" for path in sorted(wanted - found)]
    wrong += [f"{path}: no row of offers.py" for path in sorted(found - wanted)]
    for file, text in texts(name, table, home, home, table.COMMITTED).items():
        path = home / file
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            wrong.append(f"{file}: not what kernels/compile.sh {name} would write")
    for line in wrong:
        print(f"compile.py: kernels/{name}/{line}", file=sys.stderr)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=["cutile", "triton"])
    parser.add_argument("--out", type=pathlib.Path, help="folder to write to (default: beside the sources)")
    parser.add_argument("--arch", help="comma list (default: those that are committed)")
    parser.add_argument("--only", help="one module, and no manifests")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    table, home = load_table(options.name), HERE / options.name
    if options.check:
        return check(options.name, table, home)
    out = options.out or home
    archs = options.arch.split(",") if options.arch else table.COMMITTED
    if not set(archs) <= set(table.ARCHS):
        parser.error(f"--arch: of {', '.join(table.ARCHS)}")
    modules = [m for rows in table.MANIFESTS.values() for m in formats.find_modules(rows)
               if options.only in (None, m.name)]
    if not modules:
        parser.error(f"--only {options.only}: no such module")
    compile_all(table, modules, archs, out)
    if options.only is None:
        for file, text in texts(options.name, table, home, out, archs).items():
            (out / file).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
