#!/usr/bin/env python3
"""Runs a script of a page in its folder, for bench/follow_pages.

follow_pages.py FOLDER SCRIPT
"""
import os
import runpy
import sys

os.chdir(sys.argv[1])
sys.path.insert(0, sys.argv[1])  # where scripts import each other from
runpy.run_path(sys.argv[2], run_name="__main__")
