"""A miniature synthetic copy of a competition's data, from what is known of it: `write_specimen`.

A `Survey` and a `Task` come in, a folder of files goes out, and a `SpecimenSummary` says what is in it.

    original, sampled_names, id_format, labels     what is copied: names, ids and labels of the real examples
    examples ← masks                               the made-up training and test examples, with their labels
    example_folders, folders ← media_files ← images, sounds
                                                   their files, each in the folder that it belongs in
    tables ← table_rows, row_ids, column_cells, text, pixel_cells; table_files
                                                   the tables, column by column, and how they are written
    tfrecord_files                                 their TFRecords
    inference_server, stand_in_server              what asks a notebook for answers
    writing, randomness                            a folder that appears as a whole, chance that can be repeated

`cli` and `localkaggle` write specimens; they know this module alone.
"""

from generator.competition.specimen.specimen import SpecimenSummary, write_specimen
from generator.competition.specimen.writing import MARKER

__all__ = ["MARKER", "SpecimenSummary", "write_specimen"]
