"""Checking notebooks and their metadata before they cost quota.

In: a pair, a kernel's folder, or a notebook of anybody's. Out: findings, each with its rule, place and remedy.

    reading         reads what a path or a pair leads to; what cannot be read is a fault of its kernel
    source          a kernel as it is read: its metadata, its notebook's code, and what it is for
    code            the code of a notebook: its syntax trees, what names stand for, texts and numbers of expressions
    cell_text       the Python in a cell; magics and commands are taken out
    written_paths   where it writes
    secrets         what looks like a key
    distributions   what the images have, by a dated table
    rule            a rule: its id, how grave it is, and the function that finds
    rules/          the rules, a module a theme
    analysis/       what code does on a TPU, for the rules of those
    checking        every rule on every kernel
    finding         a finding, and where it is
    fix, fixing     the change that a rule is sure of, and how it is applied to the text of a file
    ignores, baseline, sarif   findings that are meant to be so, that were there before, and for code hosts

`kaggle` asks it before a push, and `cli` prints what it finds. It knows `pair` and `competition`, and runs nothing.
"""
