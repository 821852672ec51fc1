// Builds elements. Everything that comes from a report enters the page as a text node or an attribute value made here;
// nothing in this project writes HTML text, so a name cannot become markup whatever it holds.

export type Child = Node | string | number | null | undefined | false | Child[];
export type Attributes = Record<string, string | number | boolean | null | undefined>;
type Listeners = { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };

const kSvg = 'http://www.w3.org/2000/svg';

function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, child);
    else parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

function setAttributes(element: Element, attributes: Attributes): void {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (/^on/i.test(key)) throw new Error(`attribute ${key}: listeners are added with on()`);
    element.setAttribute(key, value === true ? '' : String(value));
  }
}

/** An HTML element. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(kSvg, tag) as SVGElementTagNameMap[K];
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

export function on<E extends HTMLElement>(element: E, listeners: Listeners): E {
  for (const [type, listener] of Object.entries(listeners)) {
    element.addEventListener(type, listener as EventListener);
  }
  return element;
}

export function button(label: Child, attributes: Attributes, act: () => void): HTMLButtonElement {
  return on(h('button', { type: 'button', ...attributes }, label), { click: act });
}

/** Control characters made visible; everything else as it is. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f]/g, (c) =>
    c === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + c.charCodeAt(0)),
  );
}

/** A name from the report, isolated so that right-to-left marks in it cannot reorder the text around it. */
export function name(text: string, attributes: Attributes = {}): HTMLElement {
  return h('bdi', { class: 'name', title: text, ...attributes }, visible(text));
}

/** The same for canvas and SVG text, where <bdi> does not exist. */
export function flatName(text: string): string {
  return visible(text).replace(/[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g, '');
}

export function option(value: string, label: string, selected = false): HTMLOptionElement {
  return h('option', { value, selected }, visible(label));
}

/** A labelled <select>; `choices` are [value, label]. */
export function select(
  label: string,
  id: string,
  choices: [string, string][],
  change: (value: string) => void,
): HTMLLabelElement {
  const element = h(
    'select',
    { id },
    choices.map(([value, text]) => option(value, text)),
  );
  on(element, { change: () => change(element.value) });
  return h('label', { class: 'control' }, h('span', {}, label), element);
}
