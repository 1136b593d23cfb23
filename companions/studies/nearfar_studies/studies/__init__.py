"""The studies, one file each, found by `nearfar_studies.study.STUDIES`; nothing else lists them."""
