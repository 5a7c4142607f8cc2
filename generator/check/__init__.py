"""Checking notebooks and their metadata before they cost quota.

In: a pair, a kernel's folder, or a notebook of anybody's. Out: findings, each with its rule, place and remedy.

    source          a kernel as it is read: its metadata, its notebook's code, and what it is for
    code            the code of a notebook as syntax trees, with the names that its imports give
    rule            a rule: its id, how grave it is, and the function that finds
    finding         a finding, and where it is
    rules/          the rules, a module a theme

`kaggle` asks it before a push, and `cli` prints what it finds. It knows `pair` and `competition`, and runs nothing.
"""
