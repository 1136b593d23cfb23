"""How long with this data in that memory?"""
