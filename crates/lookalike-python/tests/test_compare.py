"""Two texts side by side."""

import lookalike as la


def test_passages_stand_where_they_say() -> None:
    left = "𝄞 Zuerst: «Der Müller geht am Abend durch den stillen Wald», so heißt es."
    right = "So steht es da: der Müller geht am Abend durch den stillen Wald!"
    found = la.compare(left, right)
    passage = found.passages[0]
    assert passage.text == left[slice(*passage.left)] == "Der Müller geht am Abend durch den stillen Wald"
    assert right[slice(*passage.right)] == "der Müller geht am Abend durch den stillen Wald"
    assert 0 < found.jaccard < found.right_in_left <= 1
    assert found.estimate is not None
    html = found._repr_html_()
    assert html.count("<mark>") == 2 and "«" in html


def test_html_in_a_text_stays_text() -> None:
    assert "<script>" not in la.compare("<script>alert(1)</script>", "<b>")._repr_html_()


def test_containment_is_of_the_left_in_the_right() -> None:
    assert la.similarity({1, 2}, {1, 2, 3, 4}, measure="containment") == 1.0
    assert la.similarity({1, 2, 3, 4}, {1, 2}, measure="containment") == 0.5
