/* SPDX-License-Identifier: Apache-2.0
 *
 * A library of somebody who never heard of BLAS and has a saxpy with other parameters, called
 * through the dynamic linker. Read as BLAS, its integers would be taken for addresses.
 */
float saxpy(int n, float a, const float *x, float *y, double scale, int one, long two, long three,
            long four, long five, long six);
int homonym_run(void);

float saxpy(int n, float a, const float *x, float *y, double scale, int one, long two, long three,
            long four, long five, long six)
{
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
    return (float)(scale * (double)(one + two + three + four + five + six));
}

int homonym_run(void)
{
    float x[3] = { 1, 2, 3 }, y[3] = { 4, 5, 6 };
    float sum = saxpy(3, 2, x, y, 0.5, 1, 2, 3, 4, 5, 6);
    return sum == 10.5f && y[0] == 6 && y[1] == 9 && y[2] == 12;
}
