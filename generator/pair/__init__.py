"""Pairs of notebooks: their choices, their rendering, and their folder.

Input: a competition and the user's options. Output: two notebooks with their metadata, and a `pair.toml`.

    generation   all steps: facts, proposal, choices, files; and the reference pairs of a workspace
    choices      the origin of each choice, their precedence, and the file `pair.toml`
    spec         all values that templates can use
    rendering    renders a specification to the files of both kernels
    cells        joins parts into cells; shared cells, the user's own cells
    notebook     cells, parameters, the percent format
    folder       keeps edits, and writes all files or none
    data         puts the competition's files where the notebooks read them
    handover     the record that training writes for inference
    workspace    folders and names

`run`, `check`, `kaggle` and `cli` import it; it imports `competition` and `accelerators`.
"""
