// Tabs by the usual keyboard rules (arrows, Home, End); the open one is in the address (#ops), so that a link or a
// reload finds it again. A view is built when it is first opened.

import { button, h, on } from './dom.ts';

export interface Tab {
  id: string;
  title: string;
  build(panel: HTMLElement): void;
}

export interface Tabs {
  element: HTMLElement;
  panels: HTMLElement;
  open(id: string): void;
}

export function makeTabs(label: string, tabs: Tab[]): Tabs {
  const built = new Set<string>();
  const panels = tabs.map((tab) =>
    h('div', {
      role: 'tabpanel',
      id: `panel-${tab.id}`,
      'aria-labelledby': `tab-${tab.id}`,
      class: 'panel',
      hidden: true,
    }),
  );
  const open = (id: string, focus = false): void => {
    const at = Math.max(
      0,
      tabs.findIndex((tab) => tab.id === id),
    );
    tabs.forEach((_, i) => {
      panels[i].hidden = i !== at;
      buttons[i].setAttribute('aria-selected', String(i === at));
      buttons[i].tabIndex = i === at ? 0 : -1;
    });
    if (!built.has(tabs[at].id)) {
      built.add(tabs[at].id);
      tabs[at].build(panels[at]);
    }
    if (focus) buttons[at].focus();
    if (location.hash !== `#${tabs[at].id}`) history.replaceState(null, '', `#${tabs[at].id}`);
  };
  const buttons = tabs.map((tab) =>
    button(tab.title, { role: 'tab', id: `tab-${tab.id}`, 'aria-controls': `panel-${tab.id}` }, () => open(tab.id)),
  );
  const list = h('div', { role: 'tablist', 'aria-label': label, class: 'tabs' }, buttons);
  on(list, {
    keydown: (event) => {
      const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
      const to: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 };
      if (at < 0 || !(event.key in to)) return;
      event.preventDefault();
      open(tabs[(to[event.key] + tabs.length) % tabs.length].id, true);
    },
  });
  window.addEventListener('hashchange', () => open(location.hash.slice(1)));
  return { element: list, panels: h('main', {}, panels), open };
}
