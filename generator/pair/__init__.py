"""Pairs of notebooks: their settings, their rendering, and the folder they live in.

In goes a competition with the user's options, out come two notebooks with their metadata and a `pair.toml`.

    generation   the story: facts, proposal, settings, files
    proposal     the facts of a competition, and the task that the kit infers from them
    settings     values and who chose them, which value prevails, and their file
    overrides    the settings that `--set` and `-P` change
    spec         all that templates are told
    rendering    from a specification to the files of both kernels
    cells        parts joined into cells, shared cells, the user's own cells
    notebook     cells, parameters, the percent format
    reference_pairs  all pairs of a workspace rendered again
    folder       edits kept, all files written or none
    data         the competition's files where notebooks look for them
    handover     what training says of itself
    workspace    folders and names

`run`, `check`, `kaggle` and `cli` import it; it imports `competition` and `accelerators`.
"""
