"""The style sheet of the report, to be put into the page."""

STYLE = """
:root {
  --paper: #ffffff; --panel: #f5f6f8; --ink: #1c2126; --faint: #5d6771;
  --rule: #d9dde2; --wait: #c9ced5;
  --line: #1f6fb2; --right: #2a8a57; --wrong: #c8452f;
  --s0: #1f6fb2; --s1: #d2691e; --s2: #2a8a57; --s3: #8a4fb5;
  --s4: #b28a00; --s5: #0f8b8d; --s6: #c23b78; --s7: #5d6771;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181c; --panel: #1e2328; --ink: #e6e9ec; --faint: #9aa5b0;
    --rule: #343b43; --wait: #4a525c;
    --line: #6db3ef; --right: #4fbf86; --wrong: #f0806a;
    --s0: #6db3ef; --s1: #f2a05c; --s2: #4fbf86; --s3: #c39be8;
    --s4: #e3c04f; --s5: #52c7c9; --s6: #f08ab8; --s7: #a9b3bd;
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
.figures { display: grid; gap: 8px 24px; margin: 12px 0;
  grid-template-columns: repeat(auto-fit, minmax(280px, 1fr)); }
figure { margin: 0; max-width: 460px; }
figcaption { color: var(--faint); font-size: 13px; }
figcaption p { margin: 4px 0; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 16px;
  margin: 4px 0; padding: 0; font-variant-numeric: tabular-nums; }
.legend li::before { content: ""; display: inline-block; width: 14px; height: 3px;
  margin-right: 6px; vertical-align: middle; background: var(--series); }
.s0 { --series: var(--s0); } .s1 { --series: var(--s1); }
.s2 { --series: var(--s2); } .s3 { --series: var(--s3); }
.s4 { --series: var(--s4); } .s5 { --series: var(--s5); }
.s6 { --series: var(--s6); } .s7 { --series: var(--s7); }
.series .line { stroke: var(--series); }
.series .point, .series .dot { fill: var(--series); }
.chance { fill: none; stroke: var(--faint); stroke-dasharray: 4 4; }
.heat { background: var(--panel); max-width: 700px; }
.heat .right { fill: color-mix(in srgb, var(--right) var(--share), var(--panel)); }
.heat .wrong { fill: color-mix(in srgb, var(--wrong) var(--share), var(--panel)); }
.lost { stroke: var(--wrong); stroke-width: 1.6; stroke-dasharray: 5 3; }
.read { --series: var(--s4); } .compute { --series: var(--s0); }
.encode { --series: var(--s3); } .wait { --series: var(--wait); }
.take_in { --series: var(--s5); } .average { --series: var(--s1); }
.activities li::before { height: 12px; width: 12px; }
.timeline { --who: 148px; --lane: 24px; position: relative; margin: 8px 0 16px; }
.timeline.many { --lane: 14px; } .timeline.very-many { --lane: 9px; }
.lane { display: flex; gap: 8px; margin-bottom: 2px; align-items: center; }
.lane .who { flex: none; width: calc(var(--who) - 8px); overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; color: var(--faint);
  font-size: min(13px, calc(var(--lane) + 1px)); line-height: var(--lane); }
.lane .bar { flex: 1; min-width: 0; height: var(--lane); display: block;
  background: var(--panel); position: relative; }
.bar path { fill: var(--series); }
.bar path.lost { fill: none; stroke-width: 3; stroke-dasharray: none;
  vector-effect: non-scaling-stroke; }
.moments, .axis { --lane: 16px; }
.axis .bar { background: none; margin-top: 2px; }
.axis .bar span { position: absolute; transform: translateX(-50%); font-size: 12px;
  color: var(--faint); font-variant-numeric: tabular-nums; }
.axis .bar span:first-child { transform: none; }
.moments i { position: absolute; top: 0; bottom: 0; width: 5px; margin-left: -2px;
  background: var(--faint); }
.moments .lost { background: var(--wrong); }
.moments .joined { background: var(--right); }
.across { position: absolute; left: var(--who); right: 0; top: 18px; bottom: 22px;
  pointer-events: none; }
.across i { position: absolute; top: 0; bottom: 0;
  border-left: 1px dashed var(--faint); opacity: 0.55; }
.across .lost { border-left: 1px solid var(--wrong); opacity: 1; }
.across .joined { border-left: 1px solid var(--right); opacity: 1; }
summary { cursor: pointer; color: var(--faint); }
@media (max-width: 600px) {
  main { padding: 12px 12px 40px; }
  .timeline { --who: 104px; }
  .moments i { width: 2px; margin-left: -1px; }
  .lane .who { font-size: min(11px, calc(var(--lane) + 1px)); }
}
@media print { .scroll { max-height: none; overflow: visible; } }
"""
