"""The pages of the API reference: which modules are public, and what each page shows."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ReferencePage", "exported_names", "public_modules", "reference_pages"]


@dataclass(frozen=True)
class ReferencePage:
    """One page: the public names of a module that no earlier page shows.

    Attributes:
        module: The module.
        names: The names that the page shows, in the module's order.
        elsewhere: Its other public names, with the module whose page shows them.
    """

    module: str
    names: tuple[str, ...]
    elsewhere: Mapping[str, str]

    @property
    def path(self) -> str:
        """The page's path on the site."""
        return f"api/{self.module}.md"

    def markdown(self) -> str:
        """The page's text, with a directive for mkdocstrings.

        In the navigation its package is above it; in the search, the pages of docs are.
        """
        title = self.module.partition(".")[2] or self.module
        lines = ["---", f"title: {title}", "search:", "  boost: 0.2", "---", ""]
        lines += [f"# {self.module}", "", f"::: {self.module}"]
        lines += ["    options:", "      show_root_heading: false", "      show_root_toc_entry: false"]
        lines += ["      members:", *(f"        - {name}" for name in self.names)]
        if self.elsewhere:
            links = [f"[`{name}`]({module}.md#{module}.{name})" for name, module in self.elsewhere.items()]
            lines += ["", f"Also here: {', '.join(links)}."]
        return "\n".join([*lines, ""])


def exported_names(source: str) -> tuple[str, ...]:
    """Return what a module's ``__all__`` lists; nothing without one.

    Args:
        source: The module's text.
    """
    return _exported(ast.parse(source)) if "__all__" in source else ()


def public_modules(root: Path, packages: Sequence[str], modules: Iterable[str]) -> list[str]:
    """Return the public modules, package by package, in the order of their names.

    These are the packages that have an ``__all__``, and what else users import.

    Args:
        root: The repository.
        packages: The packages at its top.
        modules: Modules that are public though they are no package.
    """
    public: list[str] = []
    for package in packages:
        found = {
            ".".join(path.relative_to(root).parent.parts)
            for path in (root / package).rglob("__init__.py")
            if exported_names(path.read_text(encoding="utf-8"))
        }
        public += sorted(found | {module for module in modules if module.split(".")[0] == package})
    return public


def reference_pages(root: Path, packages: Sequence[str], modules: Iterable[str]) -> list[ReferencePage]:
    """Return a page for each public module that has something which no earlier page shows.

    Args:
        root: The repository.
        packages: The packages at its top.
        modules: Modules that are public though they are no package.

    Raises:
        FileNotFoundError: One of the modules does not exist.
    """
    shown: dict[tuple[str, str], str] = {}
    pages: list[ReferencePage] = []
    parsed = _Modules(root)
    for module in public_modules(root, packages, modules):
        homes = {name: parsed.home(module, name) for name in _exported(parsed.tree(module))}
        here = tuple(name for name, home in homes.items() if home not in shown)
        if here:
            elsewhere = {name: shown[home] for name, home in homes.items() if home in shown}
            pages.append(ReferencePage(module, here, elsewhere))
        shown |= {homes[name]: module for name in here}
    return pages


class _Modules:
    """The modules of a repository, each parsed once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._trees: dict[str, ast.Module] = {}
        self._imports: dict[str, dict[str, tuple[str, str]]] = {}

    def tree(self, module: str) -> ast.Module:
        if module not in self._trees:
            path = self._root.joinpath(*module.split("."))
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            self._trees[module] = ast.parse(file.read_text(encoding="utf-8"))
        return self._trees[module]

    def home(self, module: str, name: str) -> tuple[str, str]:
        """Return the module that defines a name, and the name there."""
        if module not in self._imports:
            self._imports[module] = dict(self._imported(self.tree(module).body))
        if name in self._imports[module]:
            return self.home(*self._imports[module][name])
        return module, name

    def _imported(self, body: Iterable[ast.stmt]) -> Iterator[tuple[str, tuple[str, str]]]:
        for node in body:
            if isinstance(node, ast.If):  # TYPE_CHECKING
                yield from self._imported(node.body)
            elif isinstance(node, ast.ImportFrom) and node.module and self._is_ours(node.module):
                for alias in node.names:
                    yield alias.asname or alias.name, (node.module, alias.name)

    def _is_ours(self, module: str) -> bool:
        return (self._root / module.split(".")[0]).is_dir()


def _exported(tree: ast.Module) -> tuple[str, ...]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return tuple(ast.literal_eval(node.value))
    return ()
