"""Check notebooks and their metadata before they use quota.

Input: a pair, a kernel's folder, or a notebook. Output: findings, each with its rule, location and remedy.

    checking      runs every rule on every kernel, and applies safe fixes; baselines, SARIF
    source        finds the kernels of a path or a pair, their metadata, and the Python in their cells
    code          models a notebook's code: syntax trees, bindings of names, constant values
    environment   describes a session on Kaggle, and the branches that it never reaches
    compiled, tpu analyse the code that runs on a TPU
    rules/        the rules, one module for each subject
    findings      findings and their places; `rule` has rules, and comments that ignore them

`kaggle` checks before a push, and `cli` prints the findings. The package executes no notebook.
"""
