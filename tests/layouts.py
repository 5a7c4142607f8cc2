"""Small competitions in the layouts that Kaggle has, each with what should be made of it."""

import layouts_doubts
import layouts_images
import layouts_masks
import layouts_pictures
import layouts_served
import layouts_sounds
import layouts_tables
import layouts_texts
from layout import LAYOUTS, WARNED, Layout

# Each of these adds its own.
MODULES = (
    layouts_tables,
    layouts_texts,
    layouts_images,
    layouts_pictures,
    layouts_masks,
    layouts_sounds,
    layouts_served,
    layouts_doubts,
)

__all__ = ["LAYOUTS", "WARNED", "Layout"]
