"""Checking notebooks and their metadata before they cost quota.

In: a pair, a kernel's folder, or a notebook. Out: findings, each with its rule, place and remedy.

    checking      every rule on every kernel, and safe fixes
    source        what a path or a pair leads to: kernels, their metadata, and the Python in their cells
    code          the one model of a notebook's code: syntax trees, what names stand for, constant values
    environment   what a session on Kaggle has, and the branches that it never reaches
    compiled, tpu what the code does on a TPU
    rules/        the rules, a module a theme
    findings      findings and rules, what is ignored, baselines, SARIF

`kaggle` checks before a push, and `cli` prints the findings. The package runs nothing.
"""
