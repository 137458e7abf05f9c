"""Messages of the library in the words of the command line."""

from command_line import call, refused

from angsync.cli.wording import for_the_terminal


def test_keywords_become_options():
    assert for_the_terminal("Pass sigma.") == "Give --sigma."
    assert for_the_terminal("nothing to change") == "nothing to change"


def test_wrong_options_are_answered_without_the_words_of_a_library():
    message = call("solve", "e.csv", "--solver", "foo").stderr
    assert "Value error" not in message
    assert "'foo' is not one of 'auto'" in message
    assert "whole number" in call("simulate", "grid", "--rows", "abc", "-o", "x.csv").stderr
    assert "Usage: angsync solve [OPTIONS] FILE\n" in call("solve").stderr


def test_a_triangle_of_a_matrix_is_asked_for_by_its_option():
    import numpy as np

    np.save("upper.npy", np.triu(np.ones((3, 3))))
    message = refused("solve", "upper.npy")
    assert "--hermitian upper or lower" in message
    assert "hermitian=" not in message
