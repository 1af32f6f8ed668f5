// Builds the page's elements. Whatever a service tells is set as text or as a plain attribute,
// never as markup, so that nothing in it can become a part of the page.

const svgNamespace = "http://www.w3.org/2000/svg";

/** An HTML element: `h("p", {class: "note"}, "text", h("b", {}, "more"))`. */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An SVG element. */
export function s(tag, props, ...children) {
  return fill(document.createElementNS(svgNamespace, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    // Not as an attribute, which the page's own policy forbids.
    if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

const key = (node) => (node.nodeType === 1 ? node.getAttribute("data-key") : null);

/** Makes what is inside `parent` like `children`, changing as little as that takes: what has the
    focus keeps it, and what is scrolled or opened stays so. */
export function show(parent, ...children) {
  const focused = document.activeElement;
  const wanted = h("div", {}, ...children);
  patchChildren(parent, wanted);
  if (focused && focused !== document.activeElement && parent.contains(focused)) focused.focus();
}

function patch(old, wanted) {
  if (old.nodeType !== wanted.nodeType || old.nodeName !== wanted.nodeName) {
    old.replaceWith(wanted);
    return;
  }
  if (old.nodeType !== 1) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    // What a reader opened or typed is the reader's.
    if (name === "style" || name === "open" || wanted.hasAttribute(name)) continue;
    old.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.style.cssText !== wanted.style.cssText) old.style.cssText = wanted.style.cssText;
  patchChildren(old, wanted);
}

function patchChildren(old, wanted) {
  const keyed = new Map();
  for (const child of old.childNodes) if (key(child)) keyed.set(key(child), child);
  let at = old.firstChild;
  for (const next of [...wanted.childNodes]) {
    const name = key(next);
    const match = name ? keyed.get(name) : at && !key(at) ? at : null;
    if (!match) {
      old.insertBefore(next, at);
    } else if (match === at) {
      // It may be replaced by `next`.
      at = at.nextSibling;
      patch(match, next);
    } else {
      old.insertBefore(match, at);
      patch(match, next);
    }
    keyed.delete(name);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}
