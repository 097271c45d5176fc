"""How the page follows: a server of this file's own tells it what to hear, and when."""

import copy
import http.server
import json
import queue
import threading

import documents
from support import PageTest, live_page, main, section, text_in, text_of

CHANGED = ("status", "progress", "log")


class Program:
    """A program that is followed: `tell` sends to all that listen, `leave` closes their connections."""

    def __init__(self, document):
        self.document, self.listeners, self.refuses = document, [], False
        program = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                if self.path == "/":
                    self.answer("text/html", live_page())
                elif self.path == "/events" and not program.refuses:
                    self.events()
                else:
                    self.send_error(503)

            def answer(self, kind, body):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def events(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                mine = queue.Queue()
                self.tell("document", program.document)
                program.listeners.append(mine)
                while (event := mine.get()) is not None:
                    self.tell(*event)

            def tell(self, name, value):
                self.wfile.write(f"event: {name}\ndata: {json.dumps(value)}\n\n".encode())
                self.wfile.flush()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def tell(self, name, value):
        for listener in self.listeners:
            listener.put((name, value))

    def leave(self, refuses=True):
        self.refuses = refuses
        for listener in self.listeners:
            listener.put(None)
        self.listeners = []

    def close(self):
        self.leave()
        self.server.shutdown()
        self.server.server_close()


class Live(PageTest):
    def follow(self, document, **looks):
        program = Program(document)
        self.addCleanup(program.close)
        page = self.tab(**looks).open(program.address)
        page.wait("document.body.dataset.drawn > 0")
        return program, page

    def test_changes_become_part_of_what_is_shown(self):
        document = documents.run(points=20, epochs=[])
        program, page = self.follow(document)
        self.assertIn("live", text_of(page, ".state"))
        self.assertEqual(page.requests, [program.address, program.address + "events"])
        progress = document["progress"] | {"steps": 96, "loss": 0.5151}
        # What lies before `from` stays; from it on all is new, also the point that was there.
        steps = documents.steps(6, begin=18) | {"from": 18}
        steps["loss"][0] = 0.1234
        program.tell("changes", {"progress": progress, "steps": steps})
        page.wait("document.querySelector('[data-tile=\"Training loss\"] strong').textContent === '0.5151'")
        self.assertEqual(page.run("document.title"), "5% resnet20-ddp – troupe")
        chart = section("Loss")
        page.run(f"{chart}.querySelector('.chart').focus()")
        said = []
        for key in ["Home"] + ["ArrowRight"] * 23:
            page.press(key)
            said.append(page.run("document.getElementById('announcer').textContent"))
        expected = document["steps"]["loss"][:18] + steps["loss"]
        for text, loss, index in zip(said, expected, range(24), strict=True):
            self.assertIn(f"step {4 * index}", text)
            self.assertIn(f"training batch {loss:.4f}", text)
        # Columns that came from the beginning replace all.
        program.tell("changes", {"steps": documents.steps(5, per_point=8)})
        page.wait("document.getElementById('announcer').textContent && true")
        page.wait(f"{chart}.querySelector('.tip b').textContent.startsWith('step 32')")

    def test_what_stays_the_same_is_not_touched(self):
        document = documents.run()
        program, page = self.follow(document)
        page.run("window.kept = [...document.querySelectorAll('h1, .tiles strong, tbody tr, .chart, .log li')]")
        page.run("window.touched = []; new MutationObserver(all => all.forEach(one => touched.push(one.target.parentElement?.closest('[data-tile]')?.dataset.tile ?? 'other')))"
                 ".observe(document.querySelector('main'), {childList: true, subtree: true, characterData: true, attributes: true})")  # fmt: skip
        program.tell("changes", {"progress": document["progress"] | {"loss": 0.4242}})
        page.wait("document.querySelector('[data-tile=\"Training loss\"] strong').textContent === '0.4242'")
        self.assertTrue(page.run("kept.every(element => element.isConnected)"))
        self.assertEqual(page.run("touched.filter(name => name !== 'other')"), ["Training loss"])

    def test_focus_and_cursor_stay_when_something_changes(self):
        document = documents.run(points=20, epochs=[])
        program, page = self.follow(document)
        page.run(f"{section('Loss')}.querySelector('.chart').focus()")
        page.press("Home")
        program.tell("changes", {"status": "evaluating"})
        page.wait("document.querySelector('.badge').innerText.includes('evaluating')")
        self.assertTrue(page.run(f"document.activeElement === {section('Loss')}.querySelector('.chart')"))
        self.assertFalse(page.run(f"{section('Loss')}.querySelector('.tip').hidden"))

    def test_a_lost_connection_is_said_and_found_again(self):
        document = documents.run(points=20, epochs=[])
        program, page = self.follow(document)
        program.leave()
        page.wait("document.querySelector('.state').textContent.includes('connection lost, reconnecting')")
        page.wait("/data \\d+ s old/.test(document.querySelector('.age').textContent)")
        program.document = copy.deepcopy(document)
        program.document["progress"]["loss"] = 0.1111
        program.refuses = False
        page.wait("document.querySelector('.state').textContent === 'live'", seconds=40)
        page.wait("document.querySelector('[data-tile=\"Training loss\"] strong').textContent === '0.1111'")
        page.problems[:] = [problem for problem in page.problems if "503" not in problem and "ERR_" not in problem]

    def test_the_end_of_the_run_is_said_and_its_last_state_stays(self):
        program, page = self.follow(documents.run(points=20, epochs=[]))
        program.tell("changes", {"status": "completed"})
        page.wait("document.querySelector('.badge').innerText.includes('completed')")
        self.assertEqual(page.run("document.title"), "✓ completed: resnet20-ddp – troupe")
        program.leave()
        page.wait("document.querySelector('.state').textContent === 'the run has ended'")
        before = len(page.requests)
        self.browser.listen(4)
        self.assertEqual(len(page.requests), before, "nothing is asked any more")
        self.assertEqual(text_of(page, "h1"), "resnet20-ddp")
        page.problems[:] = [problem for problem in page.problems if "ERR_" not in problem]

    def test_a_failure_is_announced(self):
        program, page = self.follow(documents.run())
        program.tell("changes", {"status": "failed", "error": "worker 1: no memory left"})
        page.wait("document.querySelector('[role=alert]')?.innerText.includes('no memory left')")

    def test_a_job_begins_at_a_daemon_that_waited(self):
        program, page = self.follow(documents.waiting())
        self.assertEqual(page.run("document.title"), "waiting: troupe")
        program.tell("changes", documents.run(points=5, epochs=[]))
        page.wait("document.querySelector('h1').textContent === 'resnet20-ddp'")
        self.assertNotEqual(text_in(page, "Loss"), "(not there)")
        self.assertGreater(page.run(f"{section('Loss')}.querySelector('.chart svg').childElementCount"), 0)

    def test_a_hidden_tab_draws_nothing(self):
        document = documents.run()
        program, page = self.follow(document)
        page.run("Object.defineProperty(document, 'hidden', {get: () => window.away, configurable: true}); window.away = true; window.drawn = document.body.dataset.drawn")
        program.tell("changes", {"progress": document["progress"] | {"steps": 975, "loss": 0.3333}})
        page.wait("document.title.startsWith('50%')")
        self.assertEqual(page.run("document.body.dataset.drawn"), page.run("window.drawn"))
        page.run("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
        page.wait("document.querySelector('[data-tile=\"Training loss\"] strong').textContent === '0.3333'")

    def test_the_log_follows_unless_scrolled_up(self):
        document = documents.run(log=documents.log(50))
        program, page = self.follow(document)
        bottom = "(log => Math.abs(log.scrollHeight - log.scrollTop - log.clientHeight) < 8)(document.querySelector('.log'))"
        self.assertTrue(page.run(bottom))
        program.tell("changes", {"log": document["log"] + [{"time": "2026-11-24T04:46:00Z", "level": "info", "text": "the next line"}]})
        page.wait("document.querySelector('.log').innerText.includes('the next line')")
        self.assertTrue(page.run(bottom))
        page.run("document.querySelector('.log').scrollTop = 40")
        program.tell("changes", {"log": document["log"] + [{"time": "2026-11-24T04:46:01Z", "level": "info", "text": "one more line"}]})
        page.wait("document.querySelector('.log').innerText.includes('one more line')")
        self.assertEqual(page.run("document.querySelector('.log').scrollTop"), 40)


if __name__ == "__main__":
    main()
