"""Planning: what a pair's training takes on each accelerator, before it is started on one.

In goes a pair of a workspace, out come predictions, one recommendation, and a picture:

    planning             the story: measure, ask the compiler, predict, recommend
    ├── measurement      the notebook's own cells up to its first step; `probe` is what stands in that step's place
    ├── compiled         what Google's TPU compiler says of the step, where it is installed
    ├── workload         both, as a training that `accelerators.prediction` takes
    └── recommendation   the predictions beside one another, the one to take, and what they teach
    roofline_chart       the roofline, as SVG

`cli` imports it; it imports `accelerators`, `pair`, `run` and `tpu_compiler`.
"""
