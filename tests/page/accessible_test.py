"""What those hear who do not see the page."""

import documents
from support import PageTest, main


class Accessible(PageTest):
    def nodes(self, document):
        return self.standalone(document).accessible()

    def test_landmarks(self):
        roles = [role for role, _ in self.nodes(documents.run())]
        for landmark in ("banner", "navigation", "main"):
            self.assertEqual(roles.count(landmark), 1, landmark)

    def test_charts_buttons_links_and_regions_have_names(self):
        for document in (documents.run(), documents.comparison(), documents.waiting()):
            for role, name in self.nodes(document):
                if role in ("application", "button", "link", "region", "navigation", "progressbar", "log", "table", "heading"):
                    self.assertTrue(name or role == "table", role)

    def test_names_of_charts(self):
        names = [name for role, name in self.nodes(documents.run()) if role == "application"]
        for name in ("Loss by step", "Accuracy by step", "Steps by duration", "Memory of each worker by kind", "Timeline of the last step"):
            self.assertIn(name, names)

    def test_headings_have_an_order(self):
        page = self.standalone(documents.run())
        levels = page.run("[...document.querySelectorAll('h1, h2, h3')].filter(heading => heading.offsetParent).map(heading => Number(heading.tagName[1]))")
        self.assertEqual(levels[0], 1)
        self.assertEqual(levels.count(1), 1)
        self.assertTrue(all(next - level <= 1 for level, next in zip(levels, levels[1:])))

    def test_no_two_elements_have_one_id(self):
        page = self.standalone(documents.run())
        ids = page.run("[...document.querySelectorAll('[id]')].map(element => element.id)")
        self.assertEqual(len(ids), len(set(ids)))

    def test_the_language_and_the_encoding_are_declared(self):
        page = self.standalone(documents.run())
        self.assertEqual(page.run("document.documentElement.lang"), "en")
        self.assertEqual(page.run("document.characterSet"), "UTF-8")


if __name__ == "__main__":
    main()
