# Functions on arrays.


@func
@no_grad("the result is an index")
def lower_bound(arr: Array[Scalar, 1], value: Scalar) -> int32:
    """Index of the first element of the sorted array `arr` that is not below `value`; the last index if all are."""
    return lower_bound(arr, 0, arr.shape[0], value)


@func
@no_grad("the result is an index")
def lower_bound(arr: Array[Scalar, 1], arr_begin: int32, arr_end: int32, value: Scalar) -> int32:
    """As `lower_bound(arr, value)`, among the elements from `arr_begin` to before `arr_end`."""
    low = arr_begin
    high = arr_end - 1
    while low < high:
        middle = low + (high - low) / 2
        if arr[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
