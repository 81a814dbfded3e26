"""The coding domain: problems, submissions, and tests that models write."""
