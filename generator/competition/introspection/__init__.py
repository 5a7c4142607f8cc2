"""A survey interpreted as a task: what the files mean, why, and what else they could mean.

A `Survey` and `Hints` come in, a `Reading` goes out: `read_task` in `task_inference` asks one question after the other,
and each answer is a `Finding`, inferred or the user's.

    table_roles, stages, id_column, lookup_table   which table is for what
    row_ids                                        how the test rows get their ids, where no column has them
    example_files ← label_sources ← candidate_folders, tfrecords, pixels
                                                   which files the examples are, and what says their labels
    answer_columns                                 which columns of the sample submission are filled, and which repeated
    target_columns, null_words, column_statistics, features
                                                   what is learned, and from what
    data_profile                                   all of that together, before anything is concluded
    target_kind, submission, metric, family        what kind of task it is
    images, masks, run_length, audio, text, feature_types, coordinates, sequences, cross_validation, training_budget,
    table_format, inference_server                 what the family and its notebooks need to know
    input_checks, unsupported, warnings, errors    decisions that cannot be followed, and what cannot be done
    unused_files                                   what no notebook reads
    findings, vocabulary                           how candidates are weighed, and the words that people name files with

`pair` asks for tasks, `specimen` reads the same names of files and columns; nobody else imports this package.
"""

from generator.competition.introspection.findings import Candidate, Confidence, Finding, Hints, Reading
from generator.competition.introspection.task_inference import read_task

__all__ = ["Candidate", "Confidence", "Finding", "Hints", "Reading", "read_task"]
