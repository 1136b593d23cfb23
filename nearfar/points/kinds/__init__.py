"""The kinds of points, one file each; `nearfar.points.kind.POINT_KINDS` finds them by folder."""
