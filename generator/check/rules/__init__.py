"""The rules of `tandem check`: functions decorated with `rule` or `tpu_rule`. `RULES` has all of them, sorted by id."""

from importlib import import_module
from pkgutil import iter_modules

from generator.check.rule import CheckRule

_MODULES = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
_ALL_RULES = (value for module in _MODULES for value in vars(module).values() if isinstance(value, CheckRule))
RULES: tuple[CheckRule, ...] = tuple(sorted(_ALL_RULES, key=lambda rule: rule.id))
