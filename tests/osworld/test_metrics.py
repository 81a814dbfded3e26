"""Metrics of rla_verifiers.osworld on files made by hand."""

import zipfile
from io import BytesIO

import pytest
from rla_verifiers.osworld import METRICS, GuestFile
from rla_verifiers.osworld.matching import matches, similarity

from .verifier_files import deck, document, pdf, text_file, workbook


def score(name, *arguments, **options):
    return METRICS[name](*arguments, **options)


@pytest.mark.parametrize(
    ("value", "method", "ref", "holds"),
    [
        (3, "eq", 3, True),
        (3, "lt", 3, False),
        (3, "le", 3, True),
        ("abc", "lt", 3, False),  # incomparable is no match, not an error
        ("Total: 12", "re", r"\d+$", True),
        ("TOTAL", "re.I", "total", True),
        (None, "re", "x", False),
        ("2.004", "approx:0.01", 2, True),
        ("2.02", "approx:0.01", 2, False),
        (0, "range.te", [0, 2], False),
        (2, "range.te", [0, 2], True),
        ('"a,b"', "str_list_eq", ["a", "b"], True),
        ("b,a", "str_list_eq", ["a", "b"], False),
        ("b,a", "str_set_eq", ["a", "b"], True),
    ],
)
def test_rules_match_as_written(value, method, ref, holds):
    assert matches(value, {"method": method, "ref": ref}) is holds


def test_similarity_is_twice_the_common_subsequence_over_both_lengths():
    # "abcd" and "acxd" share a, c, d: 2 * 3 / 8.
    assert similarity("abcd", "acxd") == 0.75
    assert similarity("", "") == 1.0
    assert similarity("a", "") == 0.0


def test_include_exclude_needs_all_and_none():
    rules = {"include": ["yes"], "exclude": ["no"]}
    assert score("check_include_exclude", "yes!", rules) == 1
    assert score("check_include_exclude", "yes or no", rules) == 0
    assert score("check_include_exclude", None, rules) == 0


def test_lists_are_checked_line_by_line():
    rules = {"expect": ["^a$", "^b"], "unexpect": ["^c"]}
    assert score("check_list", text_file("a\nbb\n"), rules) == 1
    assert score("check_list", text_file("ab\nbb\n"), rules) == 0
    assert score("check_list", text_file("a\nb\nc\n"), rules) == 0


def test_text_files_compare_with_and_without_blanks():
    assert score("compare_text_file", text_file("a  b\n"), text_file("a b")) == 0
    options = {"ignore_blanks": True, "ignore_case": True}
    assert score("compare_text_file", text_file("A  b\n"), text_file("a b"), **options) == 1
    # Two of three lines in common, five lines in all.
    assert score("diff_text_file", text_file("a\nb\nc"), text_file("a\nc")) == 0.8


def test_json_paths_lead_through_objects_and_lists():
    file = text_file('{"a": [{"b": 5}]}')
    rule = {"key": ["a", 0, "b"], "method": "eq", "ref": 5}
    assert score("check_json", file, {"expect": [rule]}) == 1
    assert score("check_json", file, {"expect": [{**rule, "key": ["a", 1, "b"]}]}) == 0
    assert score("check_json", file, {"unexpect": [rule]}) == 0
    assert score("check_json", text_file("{"), {"expect": []}) == 0


def test_objects_compare_key_by_key():
    rules = {"expected": {"a": "x"}}
    assert score("check_direct_json_object", "{'a': 'x', 'b': 1}", rules) == 1
    assert score("check_direct_json_object", '{"a": "y"}', rules) == 0
    assert score("check_direct_json_object", None, rules) == 0
    contained = {"expected": {"a": "x"}, "expect_in_result": True}
    assert score("check_direct_json_object", {"a": ["w", "x"]}, contained) == 1


def test_json_settings_need_every_pair():
    rules = {"expected": {"a": 1}}
    assert score("check_json_settings", text_file('{"a": 1, "b": 2}'), rules) == 1
    assert score("check_json_settings", text_file('{"b": 2}'), rules) == 0
    assert score("check_json_settings", text_file("[1]"), rules) == 0


def test_csv_records_and_lines():
    file = text_file("name,age\nAda,36\nBob,41\n")
    assert score("check_csv", file, {"expect": [{"name": "Ada", "age": "36"}]}) == 1
    assert score("check_csv", file, {"unexpect": [{"name": "Bob"}]}) == 0
    assert score("compare_csv", file, text_file("name,age\nAda,36\nBob,41")) == 1
    assert score("compare_csv", text_file("a,b "), text_file("A,b"), ignore_case=True) == 0
    loose = {"ignore_case": True, "strict": False}
    assert score("compare_csv", text_file("a,b "), text_file("A,b"), **loose) == 1


def test_sheet_data_ignores_number_types_and_empty_edges():
    rule = {"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}
    one = workbook([["n"], [3], [0.12345678]])
    other = workbook([["n"], [3.0], [0.12345679], [None]])
    assert score("compare_table", one, other, rules=[rule]) == 1
    assert score("compare_table", one, other, rules=[{**rule, "precision": 8}]) == 0
    assert score("compare_table", workbook([["n"], [4]]), other, rules=[rule]) == 0


def test_tables_that_are_missing_or_broken_score_zero():
    rule = {"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}
    reference = workbook([["n"]])
    assert score("compare_table", None, reference, rules=[rule]) == 0
    assert score("compare_table", text_file("no", "a.xlsx"), reference, rules=[rule]) == 0
    with pytest.raises(ValueError, match="no workbook"):
        score("compare_table", reference, text_file("no", "gold.xlsx"), rules=[rule])


def test_check_cell_sees_value_formula_and_style():
    def bold(sheet):
        from openpyxl.styles import Font

        sheet["A1"].font = Font(bold=True)
        sheet["B2"] = "=SUM(A2:A3)"

    book = workbook([["n"], [3], [4]], change=bold)
    props = {"font_bold": {"method": "eq", "ref": True}, "value": {"method": "eq", "ref": "n"}}
    rule = {"type": "check_cell", "sheet_idx": 0, "coordinate": "A1", "props": props}
    assert score("compare_table", book, rules=[rule]) == 1
    formula = {"formula": {"method": "re", "ref": r"(?i)^=sum\(A2:A3\)$"}}
    rule = {"type": "check_cell", "sheet_idx": 0, "coordinate": "B2", "props": formula}
    assert score("compare_table", book, rules=[rule]) == 1
    # openpyxl computes nothing: a formula that no application evaluated has no value.
    value = {"value": {"method": "eq", "ref": 7}}
    assert score("compare_table", book, rules=[{**rule, "props": value}]) == 0


def test_freeze_filter_zoom_and_sheet_names():
    def change(sheet):
        sheet.freeze_panes = "A2"
        sheet.auto_filter.ref = "A1:A3"
        sheet.auto_filter.add_filter_column(0, ["3"])
        sheet.sheet_view.zoomScale = 150

    plain, changed = workbook([["n"], [3]]), workbook([["n"], [3]], change=change)
    for kind in ("freeze", "filter"):
        rule = {"type": kind, "sheet_idx0": 0, "sheet_idx1": "EI0"}
        assert score("compare_table", changed, changed, rules=[rule]) == 1
        assert score("compare_table", plain, changed, rules=[rule]) == 0
    zoom = {"type": "zoom", "sheet_idx": 0, "method": "gt", "ref": 120}
    assert score("compare_table", changed, rules=[zoom]) == 1
    assert score("compare_table", plain, rules=[zoom]) == 0
    names = [{"type": "sheet_name"}]
    assert score("compare_table", plain, workbook([], sheet="Other"), rules=names) == 0


def test_fuzzy_cells_are_tidied_before_they_are_compared():
    part = {
        "range": ["A1:A2"],
        "type": "exact_match",
        "ignore_case": True,
        "normalization": [["Rd", "Road"]],
    }
    rule = {"type": "sheet_fuzzy", "sheet_idx0": 0, "sheet_idx1": "EI0", "rules": [part]}
    found, wanted = workbook([["High Rd"], [2]]), workbook([["high Road"], [2.0]])
    assert score("compare_table", found, wanted, rules=[rule]) == 1
    assert score("compare_table", workbook([["Low Rd"], [2]]), wanted, rules=[rule]) == 0


def test_printed_sheets_come_from_the_csv_that_was_fetched_along():
    rule = {"type": "sheet_print", "sheet_idx0": "RNSheet1", "sheet_idx1": "ENSheet1"}

    def with_csv(text):
        book = workbook([["n"]])
        return GuestFile(name="a.xlsx", data=book.data, siblings={"a-Sheet1.csv": text.encode()})

    assert score("compare_table", with_csv("n\n1\n"), with_csv("n\n1"), rules=[rule]) == 1
    assert score("compare_table", with_csv("n\n2\n"), with_csv("n\n1"), rules=[rule]) == 0
    assert score("compare_table", workbook([["n"]]), with_csv("n\n1"), rules=[rule]) == 0


def test_documents_compare_by_text():
    one, other = document(["One  two", "three"]), document(["One two", "", "Three"])
    assert score("compare_docx_files", one, other) == 0
    assert score("compare_docx_files", one, other, ignore_case=True) == 1
    strict = {"ignore_blanks": False, "ignore_case": True}
    assert score("compare_docx_files", one, other, **strict) == 0
    assert score("compare_docx_files", document(["b", "a"]), document(["a", "b"])) == 0
    ordered = {"ignore_order": True}
    assert score("compare_docx_files", document(["b", "a"]), document(["a", "b"]), **ordered) == 1
    # "ab" and "ac" share one of two letters each: 2 * 1 / 4.
    fuzzy = {"content_only": True}
    assert score("compare_docx_files", document(["ab"]), document(["ac"]), **fuzzy) == 0.5
    assert score("compare_docx_files", None, other) == 0
    assert score("compare_docx_files", text_file("no"), other) == 0


def test_document_tables_compare_cell_by_cell():
    one, same = document([], tables=[[["a", "b"]]]), document([], tables=[[["a ", "b"]]])
    assert score("compare_docx_tables", one, same) == 1
    assert score("compare_docx_tables", one, document([], tables=[[["a", "c"]]])) == 0
    assert score("compare_docx_tables", one, document([])) == 0


def test_paragraph_formats():
    def change(made):
        paragraph = made.paragraphs[0]
        paragraph.runs[0].font.bold = True
        paragraph.alignment = 1

    file = document(["Title", "Body"], change=change)
    rules = {"text": "Title", "bold": True, "alignment": "center"}
    assert score("check_paragraph", file, rules) == 1
    assert score("check_paragraph", file, {**rules, "text": "Body"}) == 0
    assert score("is_first_line_centered", file) == 1
    assert score("is_first_line_centered", document(["Title"])) == 0


def test_page_breaks_and_page_numbers():
    def change(made):
        made.add_page_break()
        made.sections[0].footer.paragraphs[0].text = "Page 1"

    file = document(["a"], change=change)
    assert score("contains_page_break", file) == 1
    assert score("contains_page_break", file, {"page_break_count": 2}) == 0
    assert score("contains_page_break", document(["a"])) == 0
    assert score("has_page_numbers_in_footers", file) == 1
    assert score("has_page_numbers_in_footers", document(["a"])) == 0


def test_presentations_compare_in_all_that_is_examined():
    one, other = deck([("T", "b")]), deck([("T", "c")])
    assert score("compare_pptx_files", one, one) == 1
    assert score("compare_pptx_files", one, other) == 0
    assert score("compare_pptx_files", one, other, examine_text=False) == 1
    assert score("compare_pptx_files", one, deck([("T", "b"), ("U", "c")])) == 0

    def bold(made):
        made.slides[0].shapes.title.text_frame.paragraphs[0].runs[0].font.bold = True

    emphasised = deck([("T", "b")], change=bold)
    assert score("compare_pptx_files", emphasised, one) == 0
    assert score("compare_pptx_files", emphasised, one, examine_font_bold=False) == 1

    def moved(made):
        made.slides[0].shapes.title.left = 10_000

    assert score("compare_pptx_files", deck([("T", "b")], change=moved), one) == 0
    assert score("compare_pptx_files", None, one) == 0


def test_one_slide_is_checked_for_texts_and_notes():
    def note(made):
        made.slides[0].notes_slide.notes_text_frame.text = "say hello"

    file = deck([("T", "b")], change=note)
    rules = {"slide": 0, "texts": ["T", "b"], "notes": "say hello", "slides": 1}
    assert score("check_slide", file, rules) == 1
    assert score("check_slide", file, {**rules, "slides": 2}) == 0
    assert score("check_slide", file, {**rules, "notes": ""}) == 0
    assert score("check_slide", file, {**rules, "slide": 1}) == 0
    assert score("check_slide_orientation_Portrait", file) == 0


def test_pdf_pages_and_text():
    file = pdf(["first page", "second page"])
    assert score("check_pdf_pages", file, {"relation": "eq", "ref_value": 2}) == 1
    assert score("check_pdf_pages", file, {"relation": "ge", "ref_value": 3}) == 0
    assert score("compare_pdfs", file, file) == 1
    assert score("compare_pdfs", [file, None], [file, file]) == 0.5
    assert score("pdf_contains", file, {"expected": ["second page"]}) == 1
    assert score("pdf_contains", text_file("no"), {"expected": ["x"]}) == 0


def test_archives_compare_by_members():
    def archive(**members):
        buffer = BytesIO()
        with zipfile.ZipFile(buffer, "w") as made:
            for name, text in members.items():
                made.writestr(name, text)
        return GuestFile(name="a.zip", data=buffer.getvalue())

    assert score("compare_archive", archive(a="1", b="2"), archive(b="2", a="1")) == 1
    assert score("compare_archive", archive(a="1"), archive(a="2")) == 0
    assert score("compare_archive", text_file("no"), archive(a="2")) == 0


def test_trees_name_what_is_there_and_what_is_not():
    tree = {
        "type": "directory",
        "name": "top",
        "children": [
            {
                "type": "directory",
                "name": "in",
                "children": [{"type": "file", "name": "a.txt"}],
            }
        ],
    }
    assert score("check_tree", tree, {"present": ["in/a.txt"], "absent": ["a.txt"]}) == 1
    assert score("check_tree", tree, {"present": ["a.txt"]}) == 0
    assert score("check_tree", None, {"absent": ["a.txt"]}) == 0


def test_gimp_settings_are_lines_of_words():
    file = text_file('# (undo-levels 7)\n(undo-levels 100)\n(theme "Light")\n(tool size 3)\n')
    assert score("check_config_status", file, {"key": "undo-levels", "value": "100"}) == 1
    assert score("check_config_status", file, {"key": "undo-levels", "value": "7"}) == 0
    assert score("check_config_status", file, {"key": ["tool", "size"], "value": "3"}) == 1
    assert score("check_config_status", None, {"key": "theme", "value": "x"}) == 0


def test_vlc_settings_have_defaults_and_an_unwritten_file_says_nothing():
    quiet, loud = text_file("#qt-max-volume=125\n"), text_file("qt-max-volume=200\n")
    assert score("check_qt_max_volume", loud, {"expected_qt_max_volume": 200}) == 1
    assert score("check_qt_max_volume", quiet, {"expected_qt_max_volume": 200}) == 0
    assert score("check_qt_bgcone", quiet, {"expected_qt_bgcone": 1}) == 1
    with pytest.raises(ValueError, match="never run"):
        score("check_qt_max_volume", None, {"expected_qt_max_volume": 200})
    folder = {"recording_file_path": "/home/user/Desktop"}
    assert score("is_vlc_recordings_folder", text_file("input-record-path=/tmp"), folder) == 0
    line = text_file("input-record-path=/home/user/Desktop\n")
    assert score("is_vlc_recordings_folder", line, folder) == 1
    dark = text_file("qt-slider-colours=1;2;3;99;99;99")
    assert score("check_qt_slider_colours", dark, {"type": "blackish"}) == 1
    assert score("check_qt_slider_colours", quiet, {"type": "blackish"}) == 0


def test_autosave_is_read_from_the_registry():
    def registry(minutes):
        return text_file(
            '<oor:items xmlns:oor="http://openoffice.org/2001/registry"><item '
            'oor:path="/org.openoffice.Office.Common/Save/Document"><prop '
            f'oor:name="AutoSaveTimeIntervall"><value>{minutes}</value></prop></item></oor:items>',
            "registrymodifications.xcu",
        )

    assert score("check_auto_saving_time", registry(3), {"minutes": 3}) == 1
    assert score("check_auto_saving_time", registry(10), {"minutes": 3}) == 0
    assert score("check_auto_saving_time", None, {"minutes": 3}) == 0
    with pytest.raises(ValueError, match="no registry"):
        score("check_auto_saving_time", text_file("<"), {"minutes": 3})


def test_thunderbird_preferences():
    file = text_file('user_pref("a.b", 5);\nuser_pref("name", "Ada");\n')
    assert score("check_thunderbird_prefs", file, {"expect": {"a.b": {"method": "eq", "ref": 5}}})
    unexpected = {"unexpect": {"name": {"method": "re", "ref": "^A"}}}
    assert score("check_thunderbird_prefs", file, unexpected) == 0


def test_urls_match_by_pattern_and_by_address():
    url = "https://www.Example.org/a/?q=1"
    assert score("is_expected_url_pattern_match", url, {"expected": ["q=1", "^https"]}) == 1
    assert score("is_expected_url_pattern_match", None, {"expected": ["q"]}) == 0
    tab = {"url": url}
    assert score("is_expected_active_tab", tab, {"type": "url", "url": "example.org/a?q=1"}) == 1
    assert score("is_expected_active_tab", tab, {"type": "url", "url": "example.org/b"}) == 0
    tabs = [tab, {"url": "https://b.org"}]
    assert score("is_expected_tabs", tabs, {"urls": ["b.org", "example.org/a?q=1"]}) == 1
    assert score("is_expected_tabs", tabs, {"urls": ["b.org"]}) == 0
