"""The rules, a module a theme; `RULES` has them all, by their ids."""
