/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/judge.h"

void judge_all(const struct judge *j, struct judge_outcome *out)
{
    const struct operand *o = &j->after.shape;
    *out = (struct judge_outcome){ 0 };
    for (int64_t b = 0; b < o->batch; b++)
        for (int64_t c = 0; c < o->cols; c++)
            for (int64_t r = 0; r < o->rows; r++) {
                if (!operand_holds(o, r, c))
                    continue;
                struct judge_verdict v = judge_element(j, b, r, c);
                out->worst = fmax(out->worst, v.error);
                if (v.error <= 1 || out->bad++ > 0)
                    continue;
                out->at[0] = b, out->at[1] = r, out->at[2] = c;
                out->got = v.got, out->want = v.want;
            }
}
