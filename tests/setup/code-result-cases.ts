import { expect, it } from 'vitest'
import type { RanCode } from './run-code.ts'

/** Representations of what Python code shows. */
export function codeResultCases(run: (code: string) => Promise<RanCode>): void {
  it('shows charts, tables and other representations', async () => {
    const chart = await run(
      'import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label="a")\nplt.title("T")\nplt.show()',
    )
    expect(
      Buffer.from(chart.results[0]?.png ?? '', 'base64')
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG')
    expect(chart.results[0]).toMatchObject({
      is_main_result: false,
      chart: {
        type: 'line',
        title: 'T',
        elements: [
          {
            label: 'a',
            points: [
              [1, 3],
              [2, 4],
            ],
          },
        ],
      },
    })
    const table = await run('import pandas as pd\npd.DataFrame({"a": [1, None], "b": ["x", "y"]})')
    expect(table.results[0]?.html).toContain('<table')
    expect(table.results[0]).toMatchObject({ is_main_result: true, data: { a: [1, null], b: ['x', 'y'] } })
    const shown = await run(
      `from IPython.display import SVG, JSON, Markdown, Latex, HTML
display(SVG('<svg xmlns="http://www.w3.org/2000/svg"/>'), JSON({"a": [1]}), Markdown("# m"), Latex("$x$"), HTML("<b>h</b>"))`,
    )
    expect(shown.results).toMatchObject([
      { svg: expect.stringContaining('<svg') },
      { json: { a: [1] } },
      { markdown: '# m' },
      { latex: '$x$' },
      { html: '<b>h</b>' },
    ])
  })

  it('gives the content of each kind of chart, with null for texts that are missing', async () => {
    const boxes = 'ax.boxplot([[1, 2, 3, 4, 20], [5, 5, 5]], labels=["a", "b"], patch_artist=True'
    for (const isVertical of ['True', 'False']) {
      expect(await chartIn(run, `${boxes}, vert=${isVertical})`)).toMatchObject({
        type: 'box_and_whisker',
        title: null,
        x_label: null,
        elements: [
          { label: 'a', min: 1, first_quartile: 2, median: 3, third_quartile: 4, max: 4, outliers: [20] },
          { label: 'b', min: 5, first_quartile: 5, median: 5, third_quartile: 5, max: 5, outliers: [] },
        ],
      })
    }
    expect(await chartIn(run, 'ax.pie([90, 10], labels=["a", "b"])')).toMatchObject({
      type: 'pie',
      elements: [
        { label: 'a', angle: 324, radius: 1 },
        { label: 'b', angle: 36, radius: 1 },
      ],
    })
    expect(await chartIn(run, 'ax.bar(["a", "b"], [1, 2])\nax.set_ylabel("Size (m)")')).toMatchObject({
      type: 'bar',
      x_unit: null,
      y_unit: 'm',
      elements: [
        { label: 'a', group: 'Group 0', value: 1 },
        { label: 'b', group: 'Group 0', value: 2 },
      ],
    })
    expect(await chartIn(run, 'ax.add_artist(plt.Circle((0, 0), 1))\nax.set_title("T")')).toEqual({
      type: 'unknown',
      title: 'T',
      elements: [],
    })
    expect(await chartIn(run, 'pass')).toBeUndefined()
  })

  it('shows images that are saved, and lists and dictionaries as JSON', async () => {
    const saved = await run('from PIL import Image\nImage.new("RGB", (2, 2)).save("/tmp/saved.png")')
    expect(saved.results).toMatchObject([{ is_main_result: false, png: expect.stringMatching(/^iVBOR/) }])
    const figure = await run('import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig("/tmp/f.png")\nplt.show()')
    expect(figure.results).toHaveLength(1)
    expect((await run('import numpy\n{"a": numpy.arange(2), "b": [None]}')).results).toMatchObject([
      { json: { a: [0, 1], b: [null] } },
    ])
    expect((await run('[object()]')).results[0]).not.toHaveProperty('json')
  })
}

/** The chart of a figure that the code fills; `ax` are its axes. */
async function chartIn(run: (code: string) => Promise<RanCode>, code: string): Promise<unknown> {
  const { results } = await run(`import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\n${code}\nplt.show()`)
  return results[0]?.chart
}
