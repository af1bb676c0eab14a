"""van Dongen & Van den Poel, *Evaluation of Stream Processing Frameworks*, IEEE TPDS 31(8), 2020."""

title = "Evaluation of Stream Processing Frameworks (van Dongen & Van den Poel, TPDS 2020)"
