/// The style sheet of the pages, but for the colours of data, which palette.hpp has.
#pragma once

#include <string_view>

namespace troupe::metrics {

inline constexpr std::string_view html_style = R"css(
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --text: #1c2230; --soft: #626b7d; --line: #e1e5ec;
  --good: #0b7a4b; --warn: #9a6200; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --page: #12151c; --card: #1b202a; --text: #e6e9ef; --soft: #9aa4b5;
  --line: #303846; --good: #5fd39f; --warn: #f0b94d; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 28px 20px 48px; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
h1 { margin: 0; font-size: 26px; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 0 0 8px; font-size: 15px; }
.badge { display: inline-block; vertical-align: 4px; margin-left: 10px; padding: 1px 10px; border: 1px solid;
  border-radius: 99px; font-size: 13px; font-weight: 600; }
.completed { color: var(--good); } .stopped { color: var(--warn); } .failed { color: var(--bad); }
.about { margin: 4px 0 22px; color: var(--soft); }
.error { padding: 10px 14px; border-left: 4px solid var(--bad); background: var(--card); overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 0 0 16px; }
.tiles div, section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.tiles div { padding: 12px 16px; }
.tiles dt { color: var(--soft); font-size: 13px; }
.tiles dd { margin: 0; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 16px; }
section { padding: 16px 18px; min-width: 0; }
section.wide { grid-column: 1 / -1; }
section p.note { margin: 4px 0 0; color: var(--soft); font-size: 13px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 14px 5px 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 500; }
th:first-child, td:first-child, .workers :is(th, td):nth-child(2), .facts td { text-align: left; }
.facts th { text-align: left; width: 1%; }
.facts td { white-space: normal; overflow-wrap: anywhere; }
tr:last-child > * { border-bottom: 0; }
summary { cursor: pointer; font-weight: 600; }
pre { margin: 12px 0 0; overflow-x: auto; font: 13px/1.5 ui-monospace, "SFMono-Regular", "DejaVu Sans Mono", monospace; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; }
svg path { fill: none; }
svg .rule { stroke: var(--line); } svg .axis { stroke: var(--soft); }
svg .line { stroke-width: 2; stroke-linejoin: round; } svg .faint { stroke-width: 1; }
.faint { opacity: 0.32; }
svg .line, svg .faint { stroke: var(--data); }
rect, circle { fill: var(--data); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 6px 0 0; color: var(--soft); font-size: 13px; }
.legend i { display: inline-block; width: 11px; height: 11px; margin-right: 6px; border-radius: 3px; background: var(--data); }
.empty { color: var(--soft); }
@media (max-width: 560px) { svg text { font-size: 16px; } }
@media print { body { background: none; } section { break-inside: avoid; } }
)css";

} // namespace troupe::metrics
