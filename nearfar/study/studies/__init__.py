"""The studies, one file each, found by `nearfar.study.study.STUDIES`; nothing else lists them."""
