"""The rules, a module a theme, each with a tuple `RULES`; the `RULES` of this package has them all, by their ids."""

from importlib import import_module
from pkgutil import iter_modules

from generator.check.rule import Rule

_MODULES = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
_FOUND = (rule for module in _MODULES for rule in module.RULES)
RULES: tuple[Rule, ...] = tuple(sorted(_FOUND, key=lambda rule: rule.id))
