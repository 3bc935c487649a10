"""The style sheet of the report, to be put into the page."""

STYLE = """
:root {
  --paper: #ffffff; --panel: #f5f6f8; --ink: #1c2126; --faint: #5d6771;
  --rule: #d9dde2; --line: #1f6fb2; --right: #2a8a57; --wrong: #c8452f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181c; --panel: #1e2328; --ink: #e6e9ec; --faint: #9aa5b0;
    --rule: #343b43; --line: #6db3ef; --right: #4fbf86; --wrong: #f0806a;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 960px; margin: 0 auto; padding: 24px 20px 60px; }
h1 { font-size: 26px; margin: 8px 0 20px; }
h2 { font-size: 19px; margin: 36px 0 10px; border-bottom: 1px solid var(--rule); }
h3 { font-size: 16px; margin: 22px 0 8px; }
.facts { display: grid; gap: 8px; margin: 0;
  grid-template-columns: repeat(auto-fill, minmax(180px, 1fr)); }
.facts div { background: var(--panel); border-radius: 6px; padding: 8px 12px; }
.facts dt { color: var(--faint); font-size: 13px; }
.facts dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.scroll { overflow: auto; max-height: 480px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 12px; text-align: right; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { text-align: left; }
thead th { color: var(--faint); font-weight: 500; position: sticky; top: 0;
  background: var(--paper); }
caption { caption-side: bottom; color: var(--faint); font-size: 13px; padding: 6px; }
.matrix td { min-width: 34px; padding: 4px 6px; text-align: center;
  border: 1px solid var(--paper); background-color: var(--panel); }
.matrix th { padding: 4px 8px; text-align: center; font-weight: 500;
  color: var(--faint); }
.matrix .right { background-color: color-mix(in srgb, var(--right) var(--share),
  var(--panel)); }
.matrix .wrong { background-color: color-mix(in srgb, var(--wrong) var(--share),
  var(--panel)); }
.matrix .strong { color: var(--paper); }
pre { background: var(--panel); border-radius: 6px; padding: 12px; overflow: auto;
  font-size: 13px; }
svg { width: 100%; height: auto; }
.grid { stroke: var(--rule); } .axis { stroke: var(--faint); }
.tick { fill: var(--faint); font-size: 12px; }
.label { fill: var(--ink); font-size: 13px; }
.line { fill: none; stroke: var(--line); stroke-width: 1.8; }
.point { fill: var(--line); opacity: 0; } .point:hover { opacity: 1; }
.epoch { stroke: var(--rule); stroke-dasharray: 2 4; }
.lost { stroke: var(--wrong); stroke-width: 1.6; stroke-dasharray: 5 3; }
@media print { .scroll { max-height: none; overflow: visible; } }
"""
