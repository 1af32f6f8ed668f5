extension LoadReport {
  /// The page's style sheet: the system's own fonts, light or dark as the reader has it.
  static let style = """
    :root { --page: #f6f7f9; --card: #fff; --ink: #16202c; --soft: #5b6875; --rule: #dde2e8;
      --c1: #1d5fd1; --c2: #c2570c; --c3: #0e7a55; --c4: #7a3fc0; --bad: #c4232b; --good: #0e7a55; }
    @media (prefers-color-scheme: dark) { :root { --page: #10151b; --card: #181f27; --ink: #e8edf2;
      --soft: #9aa7b4; --rule: #2c3641; --c1: #78a9ff; --c2: #f3a05a; --c3: #54c79a; --c4: #c09bf5;
      --bad: #ff7b81; --good: #54c79a; } }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.5;
      font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
    main { max-width: 1180px; margin: 0 auto; padding: 28px 20px 48px; }
    h1 { font-size: clamp(1.4rem, 3.4vw, 2.1rem); line-height: 1.2; margin: 2px 0 6px; }
    h2 { font-size: 1.15rem; margin: 0 0 12px; }
    h3 { font-size: 1rem; margin: 0; }
    p { margin: 0 0 10px; }
    .eyebrow { color: var(--soft); font-size: .85rem; margin: 0; }
    .facts, .note, small, figcaption p { color: var(--soft); }
    .note, .facts { font-size: .9rem; }
    .verdict { border-left: 4px solid var(--good); padding: 8px 14px; margin: 14px 0 20px;
      background: var(--card); border-radius: 0 8px 8px 0; }
    .verdict.wrong { border-color: var(--bad); }
    .verdict strong { color: var(--good); }
    .verdict.wrong strong { color: var(--bad); }
    .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); gap: 12px;
      margin-bottom: 20px; }
    .tile, section, details { background: var(--card); border: 1px solid var(--rule);
      border-radius: 10px; }
    .tile { padding: 12px 14px; }
    .tile p { color: var(--soft); font-size: .85rem; margin: 0; }
    .tile b { display: block; font-size: 1.55rem; line-height: 1.3; white-space: nowrap; }
    .tile small { font-size: .85rem; }
    section { padding: 18px 20px; margin-bottom: 20px; }
    .columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(320px, 100%), 1fr));
      gap: 28px; }
    .plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(430px, 100%), 1fr));
      gap: 26px 30px; }
    figure { margin: 0; min-width: 0; }
    figcaption p { font-size: .85rem; margin: 0; }
    .keys { min-height: 1.7em; font-size: .85rem; }
    .key { display: inline-flex; align-items: center; margin-right: 14px; white-space: nowrap; }
    .key i { width: 16px; height: 3px; margin-right: 6px; background: currentColor; }
    .key i.faint { opacity: .45; }
    svg { display: block; width: 100%; height: auto; overflow: visible; }
    .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
    .c4 { color: var(--c4); } .bad { color: var(--bad); }
    path.line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
    path.line.faint { stroke-width: 1.5; opacity: .5; }
    path.area { fill: currentColor; opacity: .5; }
    svg.ranges { max-width: 900px; }
    circle, .bar { fill: currentColor; }
    .bar { opacity: .8; }
    .whisker { stroke: currentColor; stroke-width: 1.5; }
    .notch { stroke: var(--card); stroke-width: 2; }
    .grid { stroke: var(--rule); stroke-width: 1; }
    text { font-size: 13px; fill: var(--ink); }
    text.tick { fill: var(--soft); font-size: 12.5px; }
    .scroll { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; font-size: .92rem; margin: 6px 0 14px; }
    th, td { text-align: left; padding: 5px 14px 5px 0; border-bottom: 1px solid var(--rule);
      font-weight: 400; vertical-align: top; }
    thead th { color: var(--soft); }
    .numbers td, .numbers thead th { text-align: right; padding: 5px 0 5px 14px;
      font-variant-numeric: tabular-nums; white-space: nowrap; }
    .numbers thead th:first-child { text-align: left; }
    details { padding: 10px 14px; margin-top: 6px; font-size: .92rem; }
    summary { cursor: pointer; color: var(--soft); }
    details[open] summary { margin-bottom: 10px; }
    footer { color: var(--soft); font-size: .9rem; }
    pre { white-space: pre-wrap; background: var(--card); border: 1px solid var(--rule); border-radius: 8px;
      padding: 10px 14px; overflow-x: auto; color: var(--ink); }
    @media (max-width: 560px) { main { padding: 18px 12px 32px; } section { padding: 14px 12px; }
      .tiles { grid-template-columns: 1fr 1fr; } .tile b { font-size: 1.3rem; }
      svg.ranges { min-width: 560px; }
      table { font-size: .85rem; } .numbers td, .numbers thead th { padding-left: 9px; } }
    @media print { body { background: #fff; } section, figure, .tile { break-inside: avoid; } }
    """
}
