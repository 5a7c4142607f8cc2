"""Pairs of notebooks: their settings, their rendering, and their folder.

Input: a competition and the user's options. Output: two notebooks with their metadata, and a `pair.toml`.

    generation   all steps: facts, proposal, settings, files
    proposal     the facts of a competition, and the task that the kit infers from them
    settings     values and their origin, their precedence, and the file `pair.toml`
    overrides    the settings that `--set` and `-P` change
    spec         all values that templates can use
    rendering    renders a specification to the files of both kernels
    notebook     cells, shared and the user's own; parameters; the percent format
    reference_pairs  renders all pairs of a workspace again
    merge        merges notebooks and metadata that the user and the templates changed
    folder       plans what is written, and writes all files or none; undo
    update       merges new templates into an existing pair; copies edits of shared cells
    pull         merges the edits of a notebook from elsewhere: a version on Kaggle, a file, a run
    adoption     makes a pair of a fork, or of any other notebook
    handover     the record that training writes for inference
    workspace    folders and names, and the competition's files where the notebooks read them

`run`, `check`, `kaggle` and `cli` import it; it imports `competition` and `accelerators`.
"""
