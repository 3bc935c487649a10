"""Forecast tomorrow's mean temperature from today's hours: labelled arrays in and out.

    python examples/xarray/forecast.py [DAYS]

The weather is made up: a yearly and a daily cycle, and fronts that pass within a few
days and that the pressure announces. It comes as an xarray data set in chunks of half a
year, so that each chunk is a partition that one worker loads. Real data would come the
same way from `xarray.open_zarr` or `xarray.open_mfdataset`, whose chunks the workers
read themselves.
"""

import sys

import numpy as np
import xarray as xr
from distributed import Client, LocalCluster

import daskdl

HOURS = 24
NETWORK = daskdl.MultiLayerConfiguration(
    seed=7,
    updater=daskdl.Adam(learning_rate=0.01),
    input=daskdl.Recurrent(size=2, time_steps=HOURS),
    layers=[
        daskdl.LSTM(n_out=16),
        daskdl.GlobalPooling(pooling_type="avg"),
        daskdl.Output(n_out=1, loss="mse"),
    ],
)


def main(days: int = 1460, *, epochs: int = 20) -> xr.Dataset:
    """Return forecast and truth of the last quarter, labelled by day."""
    weather = examples_of(made_up_weather(days + 1))
    split = weather.sizes["day"] * 3 // 4
    train = weather.isel(day=slice(None, split)).chunk(day=182)
    test = weather.isel(day=slice(split, None))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1) as cluster,
        Client(cluster) as client,
    ):
        network = daskdl.DaskMultiLayer(
            client,
            NETWORK,
            daskdl.ParameterAveragingTrainingMaster(averaging_frequency=2),
            normalizer=daskdl.NormalizerStandardize(),
        )
        columns = {"features": "hours", "sample_dim": "day"}
        network.fit(
            train,
            epochs=epochs,
            batch_size=16,
            shuffle=True,
            label="tomorrow",
            **columns,
        )
        predicted = network.feed_forward_with_key(test, **columns)
    # xarray matches the predictions with the truth by their labels, the days.
    forecast = test[["tomorrow"]].assign(
        forecast=predicted["prediction"].squeeze("output_1"),
        persistence=test["hours"].sel(variable="temperature").mean("hour"),
    )
    for name in ("forecast", "persistence"):
        print(f"{name}: mean error {mean_error(forecast, name):.2f} degrees")
    return forecast


def mean_error(forecast: xr.Dataset, name: str) -> float:
    return float(abs(forecast[name] - forecast["tomorrow"]).mean())


def made_up_weather(days: int) -> xr.DataArray:
    """Return temperature and pressure by day and hour."""
    rng = np.random.default_rng(20260101)
    time = np.arange(days * HOURS) / HOURS
    # Fronts: noise smoothed over two days. The pressure leads by one day.
    kernel = np.hanning(2 * HOURS)
    noise = rng.standard_normal(time.size + HOURS + kernel.size - 1)
    fronts = np.convolve(noise, kernel / np.linalg.norm(kernel), mode="valid")
    season = -9 * np.cos(2 * np.pi * time / 365.25)
    daily = -4 * np.cos(2 * np.pi * (time - 0.1))
    temperature = 10 + season + daily + 4 * fronts[:-HOURS]
    pressure = 1013 - 8 * fronts[HOURS:] + rng.standard_normal(time.size)
    return xr.DataArray(
        np.stack([temperature, pressure]).reshape(2, days, HOURS),
        dims=("variable", "day", "hour"),
        coords={
            "variable": ["temperature", "pressure"],
            "day": np.datetime64("2020-01-01", "ns") + np.arange(days) * DAY,
            "hour": np.arange(HOURS),
        },
    )


DAY = np.timedelta64(1, "D")


def examples_of(weather: xr.DataArray) -> xr.Dataset:
    """Pair the hours of each day with the mean temperature of the next."""
    tomorrow = weather.sel(variable="temperature", drop=True).mean("hour").shift(day=-1)
    hours = weather.transpose("day", "variable", "hour")
    return xr.Dataset({"hours": hours, "tomorrow": tomorrow}).isel(day=slice(-1))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
