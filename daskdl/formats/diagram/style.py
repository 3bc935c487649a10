"""The style sheet of pictures of networks, in light and dark colours."""

STYLE = """
:root { --paper: #ffffff; --ink: #1c2126; --faint: #5d6771; --rule: #b8c0c8;
  --layer: #e3effa; --layer-rule: #1f6fb2; --plain: #f2f4f6; --plain-rule: #a3adb7;
  --vertex: #fbeadb; --vertex-rule: #c26418; --input: #e2f3e9; --input-rule: #2a8a57;
  --output-rule: #8a4fb5; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --ink: #e6e9ec; --faint: #9aa5b0; --rule: #59636e;
    --layer: #16304a; --layer-rule: #6db3ef; --plain: #23292f; --plain-rule: #6b7682;
    --vertex: #42290f; --vertex-rule: #f2a05c; --input: #123524;
    --input-rule: #4fbf86; --output-rule: #c39be8; }
}
text { fill: var(--ink); font-family: system-ui, sans-serif; text-anchor: middle; }
.paper { fill: var(--paper); }
.title { font-size: 15px; font-weight: 600; text-anchor: start; }
.subtitle { font-size: 12px; fill: var(--faint); text-anchor: start; }
.name { font-size: 13px; font-weight: 600; }
.kind { font-size: 11.5px; }
.shape { font-size: 11px; fill: var(--faint); font-variant-numeric: tabular-nums;
  white-space: pre; }
.box { stroke-width: 1.2; }
.layer .box { fill: var(--layer); stroke: var(--layer-rule); }
.plain .box { fill: var(--plain); stroke: var(--plain-rule); }
.vertex .box { fill: var(--vertex); stroke: var(--vertex-rule); }
.input .box { fill: var(--input); stroke: var(--input-rule); }
.output .box { stroke: var(--output-rule); stroke-width: 2.4; }
.edge path { fill: none; stroke: var(--rule); stroke-width: 1.6;
  stroke-linejoin: round; stroke-linecap: round; }
.edge:hover path { stroke: var(--ink); }
"""
